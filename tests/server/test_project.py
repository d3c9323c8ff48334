"""The project log over HTTP: kept, undone, refused with a sentence, and told to open pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from rollscope.server.app import create
from rollscope.store.project.log import NAME, ProjectLog

from .served import served


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        yield client


def _say(client: TestClient, *changes: tuple[str, str, object], **more: object) -> httpx.Response:
    body = {"changes": [dict(zip(("kind", "name", "value"), change, strict=True)) for change in changes], **more}
    return client.post("/api/project", json=body)


def test_what_is_said_holds_until_it_is_undone(client: TestClient, tmp_path: Path) -> None:
    made = _say(client, ("tag", "a/x", True), ("rename", "a", "best")).json()["entries"]
    held = client.get("/api/project").json()["held"]
    assert held["tag"]["a/x"] == made[0] and held["rename"]["a"]["value"] == "best" and made[0]["author"]
    assert client.get("/api/project", params={"kind": "rename"}).json()["held"] == {"rename": {"a": made[1]}}
    undone = client.post("/api/project/undo", json={"ids": [one["id"] for one in made]}).json()
    assert client.get("/api/project").json()["held"]["tag"] == {}
    history = client.get("/api/project/history", params={"kind": "rename", "name": "a"}).json()["entries"]
    assert history == [made[1], undone]
    assert ProjectLog(str(tmp_path)).current("rename") == {}


def test_wrong_words_are_refused_with_a_sentence(client: TestClient, tmp_path: Path) -> None:
    refused = [
        _say(client, ("tagg", "a/x", True)),
        _say(client, ("tag", "a", True)),
        _say(client, ("bin", "a", {})),
        _say(client),
        client.get("/api/project", params={"kind": "tagg"}),
    ]
    assert [reply.status_code for reply in refused] == [400] * 5
    assert all(set(reply.json()) == {"error", "says"} for reply in refused)
    assert client.post("/api/project/undo", json={"ids": ["x"]}).status_code == 404
    assert not (tmp_path / NAME).exists()


def test_the_second_of_two_editors_is_told(client: TestClient) -> None:
    first = _say(client, ("board", "b", {"panels": []}), after="").json()["entries"][0]
    late = _say(client, ("board", "b", {"panels": [{}]}), after="")
    assert late.status_code == 409 and late.json()["error"] == "Conflict"
    assert _say(client, ("board", "b", {"panels": [{}]}), after=first["id"]).status_code == 200


def test_a_foreign_page_may_not_write(client: TestClient, tmp_path: Path) -> None:
    body = {"changes": [{"kind": "archive", "name": "a", "value": True}]}
    for path, sent in (("project", body), ("project/undo", {"ids": ["x"]})):
        reply = client.post(f"/api/{path}", json=sent, headers={"origin": "http://evil.example"})
        assert reply.status_code == 403
    assert not (tmp_path / NAME).exists()


def test_a_damaged_line_has_a_sentence(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("<script>\n")
    _say(client, ("archive", "a", True))
    answer = client.get("/api/project").json()
    assert answer["held"]["archive"] and answer["problems"][0].startswith("line 1 of project.jsonl is passed over")


def test_open_pages_hear_of_an_entry_whoever_wrote_it(tmp_path: Path) -> None:
    with (
        served(tmp_path) as (host, port),
        httpx.stream("GET", f"http://{host}:{port}/api/live", timeout=60) as stream,
    ):
        events = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        assert next(events)["kind"] == "hello"
        ProjectLog(str(tmp_path)).append("archive", "a", True)
        assert next(event for event in events if event["kind"] == "project")["kinds"] == ["archive"]
