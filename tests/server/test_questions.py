"""Heavy questions run in processes that can be stopped: limits, turns, clients that leave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rollscope.errors import BadInput, MachineBusy, RollscopeError
from rollscope.server.app import create
from rollscope.server.questions import queues as queues_module
from rollscope.server.questions import worker as worker_module
from rollscope.server.questions.queues import Busy, Queues
from rollscope.server.questions.worker import Worker, one

ENDLESS = "select count(*) from range(1000000000000) where hash(range) = 1"
LARGE = "select len(range(600000000))"  # a list of 4.8 GB, which DuckDB's own limit does not count


@pytest.fixture
def queues() -> Iterator[Queues]:
    queues = Queues()
    yield queues
    queues.close()


def question(store: Path, query: str, seconds: float = 10.0) -> dict[str, Any]:
    return {"path": str(store), "run": "a", "query": query, "seconds": seconds}


def test_too_much_memory_is_a_sentence_and_the_next_question_is_answered(client: TestClient) -> None:
    reply = client.post("/api/runs/a/sql", json={"query": LARGE})
    assert reply.status_code == 400 and "memory" in reply.json()["says"]
    assert client.post("/api/runs/a/sql", json={"query": "select 7 as n"}).json()["rows"] == [[7]]


def test_a_condition_that_takes_too_much_memory_costs_its_export_alone(client: TestClient) -> None:
    reply = client.get("/api/runs/a/export", params={"where": f"({LARGE}) > 0"})
    assert reply.status_code == 400 and "memory" in reply.json()["says"]
    assert len(client.get("/api/runs/a/export?limit=3").text.splitlines()) == 3


def test_a_process_that_does_not_stop_is_ended(store: Path) -> None:
    """The process is told nothing of the limit here, as if DuckDB did not listen."""
    with one() as worker, pytest.raises(RollscopeError, match="was stopped"):
        worker.ask("sql", -2.0, question(store, ENDLESS, 60.0))
    assert not worker.is_running()


def test_a_process_that_dies_is_a_sentence_and_a_new_one_answers(store: Path) -> None:
    with one() as worker:
        worker.ask("sql", 60.0, question(store, "select 1"))
        assert worker._process is not None
        killer = threading.Thread(target=_kill_at_work, args=(worker._process,))
        killer.start()
        with pytest.raises(BadInput, match="ended with code"):
            worker.ask("sql", 120.0, question(store, ENDLESS, 120.0))
        killer.join()
        answer = json.loads(worker.ask("sql", 60.0, question(store, "select 1")).read())
        assert answer["rows"] == [[1]]


def _kill_at_work(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has begun to work on an endless question."""
    idle, until = worker_module._processor_seconds(process.pid) or 0.0, time.monotonic() + 60
    while (worker_module._processor_seconds(process.pid) or 0.0) < idle + 0.2 and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()


def test_a_client_that_leaves_as_its_answer_comes_costs_the_next_question_nothing(store: Path) -> None:
    with one() as worker:
        for _ in range(8):
            worker.begin()
            assert json.loads(worker.ask("sql", 10.0, question(store, "select 1 as one")).read())["total"] == 1
            worker.stop()


def test_a_question_that_got_no_processor_may_be_asked_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is held still looks like one on a machine with a thousand others."""
    monkeypatch.setattr(worker_module, "GRACE", 0.0)
    with one() as worker:
        worker.ask("sql", 60.0, question(store, "select 1"))
        assert worker._process is not None
        os.kill(worker._process.pid, signal.SIGSTOP)
        with pytest.raises(MachineBusy, match=r"0\.0 s of a processor in 1 s"):
            worker.ask("sql", 1.0, question(store, "select 1", 60.0))


def test_a_process_that_cannot_start_in_time_is_no_fault_of_the_question(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "START_SECONDS", 0.0)
        for path, body in (("sql", {"query": "select 1"}), ("export?limit=3", None)):
            url = f"/api/runs/a/{path}"
            reply = client.post(url, json=body) if body else client.get(url)
            assert reply.status_code == 503 and reply.headers["retry-after"] == "5", reply.text
            assert "Ask again" in reply.json()["says"]
    assert client.post("/api/runs/a/sql", json={"query": "select 7 as n"}).json()["rows"] == [[7]]


def test_an_error_of_the_process_keeps_its_kind(client: TestClient) -> None:
    assert client.post("/api/runs/missing/sql", json={"query": "select 1"}).status_code == 404
    assert client.post("/api/runs/a/sql", json={"query": "drop table runs"}).status_code == 400


def test_clients_take_turns(store: Path, queues: Queues) -> None:
    """Eight endless questions of one client, one of another: the other is answered first."""
    greedy = [queues.add("greedy", "sql", 240.0, question(store, ENDLESS, 240.0)) for _ in range(8)]
    other = queues.add("other", "sql", 240.0, question(store, "select 1", 240.0))
    done, _ = wait([other.future, *(ticket.future for ticket in greedy)], return_when=FIRST_COMPLETED)
    assert done == {other.future} and json.load(other.future.result())["rows"] == [[1]]


def test_too_many_questions_of_one_client_are_refused(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues_module, "WORKERS", 0)
    for _ in range(queues_module.WAITING_OF_CLIENT):
        queues.add("greedy", "sql", 1.0, {})
    with pytest.raises(Busy, match="64 questions of yours"):
        queues.add("greedy", "sql", 1.0, {})
    queues.add("other", "sql", 1.0, {})


def test_a_question_that_waits_is_forgotten_when_its_client_leaves(
    queues: Queues, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues_module, "WORKERS", 0)
    ticket = queues.add("client", "sql", 1.0, {})
    queues.withdraw(ticket)
    assert ticket.future.cancelled() and queues._next() is None


def test_a_question_ends_when_its_client_leaves(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    stop = Worker.stop
    monkeypatch.setattr(Worker, "stop", lambda worker: (stop(worker), stopped.set()))
    app = create(str(store))
    try:
        asyncio.run(_ask_and_leave(app))
        assert stopped.wait(60)
        queues: Queues = app.app.state.queues
        [worker] = queues._workers
        queues.close()
        assert not worker.is_running()
    finally:
        app.app.state.queues.close()


async def _ask_and_leave(app: Any) -> None:
    """One request over ASGI whose client goes as soon as the question is with a worker."""
    queues: Queues = app.app.state.queues
    body = json.dumps({"query": ENDLESS}).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        while not queues._running:
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    path = "/api/runs/a/sql"
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers, "root_path": ""}
    scope |= {"client": ("10.0.0.1", 1), "server": ("127.0.0.1", 80)}
    await app(scope, receive, send)
