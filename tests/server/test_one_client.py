"""One client that asks far too much does not keep others from their pages."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from rollscope.server.routes.receive.lake import WAITING, Busy, Queue
from tests.server.served import served

MANY = 60  # more than the threads that serve pages
ENDLESS = "(select count(*) from range(1000000000000) where hash(range) = 1) >= 0"


def request(path: str, body: object = None) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n"
    return f"{head}content-length: {len(data)}\r\n\r\n".encode() + data


def status_of(address: tuple[str, int], path: str) -> bytes:
    with socket.create_connection(address, timeout=120) as connection:
        connection.sendall(request(path))
        return connection.recv(12)


def test_pages_are_answered_while_endless_questions_are_not(store: Path) -> None:
    endless = [
        request(f"/api/runs/a/export?where={quote(ENDLESS)}"),
        request("/api/runs/a/sql", {"query": f"select {ENDLESS}"}),
    ]
    with served(store) as address, ExitStack() as stack:
        greedy = [stack.enter_context(socket.create_connection(address)) for _ in range(MANY)]
        for i, connection in enumerate(greedy):
            connection.sendall(endless[i % 2])
        for path in ("/api/health", "/", "/api/runs", "/api/runs/a", "/api/runs/b/samples"):
            assert status_of(address, path) == b"HTTP/1.1 200"
        answered, _, _ = select.select(greedy, [], [], 0)
        assert len(answered) < MANY - 40  # old: forty of them held every thread, and the pages waited


def test_many_searches_leave_the_pages_their_threads(store: Path) -> None:
    with served(store) as address, ExitStack() as stack:
        for _ in range(MANY):
            connection = stack.enter_context(socket.create_connection(address))
            connection.sendall(request("/api/runs/a/search?text=script&limit=10000"))
        assert status_of(address, "/api/runs/b/samples") == b"HTTP/1.1 200"


def test_who_ships_a_lot_leaves_others_their_turns() -> None:
    async def shipping() -> list[str]:
        queue, stop, others = Queue(8), asyncio.Event(), list[str]()

        async def greedy() -> None:
            async with queue.turn("greedy"):
                await stop.wait()  # a body that does not come

        tasks = [asyncio.ensure_future(greedy()) for _ in range(WAITING + MANY)]
        await asyncio.sleep(0)  # each of them has asked once
        async with asyncio.timeout(60):
            for name in ("ann", "bob"):
                async with queue.turn(name):
                    others.append(name)
        stop.set()
        refused = [end for end in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(end, Busy)]
        assert 0 < len(refused) < len(tasks) and not queue.waiting
        return others

    assert asyncio.run(shipping()) == ["ann", "bob"]
