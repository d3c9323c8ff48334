"""Every route of the OpenAPI description with random input: no bug, and no file from outside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from rollscope.server.app import application, create

HOSTILE = [
    "",
    "a",
    "b",
    "..",
    "../..",
    "../../etc/passwd",
    "%2e%2e",
    "/etc/passwd",
    "a/../b",
    "\x00",
    "'; DROP TABLE samples; --",
    "<script>",
    "ü\u202e",
    "x" * 300,
    "NaN",
    "null",
    "0",
    "-1",
    "1e400",
    "reward/mean",
    "critic/loss",
    '{"a": 1}',
    "1) OR (1=1",
]
NUMBERS = [0, 1, -1, 3.5, 10**6, -(10**18), 10**30, "NaN", "Infinity", "", "abc", True, None]
DESCRIPTION = application(".").openapi()
GETS = [(path, ops["get"]) for path, ops in DESCRIPTION["paths"].items() if "get" in ops and path != "/api/live"]
POSTS = [(path, ops["post"]) for path, ops in DESCRIPTION["paths"].items() if "post" in ops]


def types(schema: dict[str, Any]) -> set[str]:
    return {schema.get("type", "string")} | {s.get("type", "string") for s in schema.get("anyOf", [])}


def value(schema: dict[str, Any], rng: random.Random) -> Any:
    if "enum" in schema and rng.random() < 0.7:
        return rng.choice(schema["enum"])
    return rng.choice(NUMBERS if types(schema) & {"integer", "number"} and rng.random() < 0.8 else HOSTILE)


def requests(path: str, operation: dict[str, Any], seed: int, count: int = 30) -> Iterator[tuple[str, dict[str, Any]]]:
    rng = random.Random(seed)
    for _ in range(count):
        address, query = path, {}
        for parameter in operation.get("parameters", []):
            given = value(parameter.get("schema", {}), rng)
            if parameter["in"] == "path":
                given = rng.choice(["a", "a", given]) if parameter["name"] == "run" else given
                part = quote(str(given), safe="" if rng.random() < 0.8 else "/")
                address = address.replace("{" + parameter["name"] + "}", part)
            elif parameter.get("required") or rng.random() < 0.6:
                query[parameter["name"]] = "" if given is None else str(given)
        if rng.random() < 0.1:
            query["unknown"] = "1"
        yield address, query


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[TestClient]:
    (store.parent / "secret.txt").write_text("outside the store")
    with TestClient(create(str(store)), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(("path", "operation"), GETS, ids=[p for p, _ in GETS])
def test_no_get_meets_a_bug(server: TestClient, path: str, operation: dict[str, Any]) -> None:
    for where, query in requests(path, operation, seed=len(path)):
        reply = server.get(where, params=query)
        assert reply.status_code < 500, (where, query, reply.text[:300])
        assert b"outside the store" not in reply.content and b"root:x:" not in reply.content
        if reply.status_code >= 400:
            assert set(reply.json()) == {"error", "says"}, (where, query)


BODIES: list[Any] = [
    *({}, [], "x", None),
    {"runs": ["a"], "names": ["reward/mean"], "points": 10**9},
    {"runs": ["../.."], "names": ["reward/mean"]},
    {"runs": ["a"], "names": ["reward/mean"], "lo": 50, "hi": 10},
    {"runs": ["a"], "names": ["reward/mean"], "lo": "NaN"},
    {"runs": ["a"], "names": ["reward/mean"], "x": "tokens"},
    {"runs": ["a"] * 200, "names": []},
    {"runs": ["a"], "names": ["reward/mean"], "lo": -1e15, "hi": 1e15},
    {"runs": ["a"], "names": ["\x00", "reward/mean"], "x": "moon"},
    {"runs": [1], "names": [2]},
    {"runs": ["a"], "names": ["reward/mean"], "from": 10**12},
    {"query": "COPY (SELECT 1) TO '/tmp/x'"},
    {"text": "x" * 100_000},
]


@pytest.mark.parametrize(("path", "operation"), POSTS, ids=[p for p, _ in POSTS])
def test_no_post_meets_a_bug(server: TestClient, path: str, operation: dict[str, Any]) -> None:
    for body in BODIES:
        for run in ("a", "../a"):
            reply = server.post(path.replace("{run}", quote(run, safe="")), json=body)
            assert reply.status_code < 500, (path, body, reply.text[:300])
    assert server.post(path.replace("{run}", "a"), content=b"\xff\xfe not json").status_code in (400, 404, 415)
