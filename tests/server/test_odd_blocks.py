"""No block of a log, however odd, makes a route fail, or a page of another run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rollscope.server.app import create
from tests.server.test_fuzz import GETS
from tests.store.conftest import World
from tests.store.odd_blocks import NOT_UNDERSTOOD, UNUSUAL
from tests.store.test_odd_blocks import CHUNKS, fill, seal

VALUES = {"run": "r1", "name": "good", "metric": "good", "step": "3", "sample": "s10", "task": "t", "text": "good"}
POSTS: dict[str, Any] = {
    "/api/series": {"runs": ["r1"], "names": ["good", "odd", "second", "parts"], "points": 50},
    "/api/runs/r1/sql": {"query": "select * from metrics"},
    "/api/runs/r1/rollouts/samples": {"ids": ["s10", "odd"], "step": 3},
    "/api/runs/r1/rollouts/text": {"ids": ["s10", "odd"], "step": 3},
    "/api/runs/r1/rollouts/previews": {"ids": ["s10", "odd"], "step": 3},
    "/api/runs/r1/export": {"ids": ["s10", "odd"], "format": "jsonl"},
}


def replies(client: TestClient) -> Iterator[tuple[str, Any]]:
    for path, operation in GETS:
        for step in ("1", "3"):
            values = {**VALUES, "step": step}
            query = {p["name"]: values[p["name"]] for p in operation.get("parameters", []) if p["name"] in values}
            where = path.replace("{path}", "none.png").format(**VALUES)
            asked = {k: v for k, v in query.items() if f"{{{k}}}" not in path}
            yield where, answered(lambda where=where, asked=asked: client.get(where, params=asked))
    for where, body in POSTS.items():
        yield where, answered(lambda where=where, body=body: client.post(where, json=body))


def answered(ask: Callable[[], Any]) -> Any:
    """The reply, asked for again while a busy machine has no processor for the question."""
    until = time.monotonic() + 60
    while (reply := ask()).status_code == 503 and time.monotonic() < until:
        time.sleep(float(reply.headers["retry-after"]))
    return reply


@pytest.mark.parametrize("odd", [NOT_UNDERSTOOD, *CHUNKS], ids=["not understood", *(next(iter(c)) for c in CHUNKS)])
@pytest.mark.parametrize("advance", [lambda _: None, seal], ids=["log", "sealed"])
def test_routes_answer(tmp_path: Path, odd: Any, advance: Any) -> None:
    world = World(tmp_path)
    fill(world, odd)
    advance(world)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        for where, reply in replies(client):
            assert reply.status_code < 500, (where, reply.text[:500])


def test_every_route_answers_about_everything_at_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    fill(world, {**NOT_UNDERSTOOD, **UNUSUAL})
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        for where, reply in replies(client):
            assert reply.status_code < 500, (where, reply.text[:500])
