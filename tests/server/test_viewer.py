"""A viewer reaches the page only as a person trusted it; the frame that runs it has no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.trust import trusted

SOURCE = "export const draw = () => '<b>maze</b>';"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("ROLLSCOPE_CONFIG", str(tmp_path / "config"))
    with rs.init(project="p", id="a", dir=tmp_path / "runs", host=False) as run:
        run.log({"x": 1.0}, step=0)
    viewers = tmp_path / ".rollscope" / "viewers"
    viewers.mkdir(parents=True)
    (viewers / "maze.js").write_text(SOURCE)
    (viewers / "two-words.js").write_text(SOURCE)
    with TestClient(create(str(tmp_path / "runs")), base_url="http://127.0.0.1") as client:
        yield client


def asked(client: TestClient, env: str) -> dict[str, str]:
    return dict(client.get("/api/runs/a/viewer", params={"env": env}).json())


def test_a_viewer_is_sent_as_it_was_trusted_and_never_otherwise(client: TestClient, tmp_path: Path) -> None:
    first = asked(client, "maze")
    assert first["state"] == "untrusted" and not first["source"] and f"rollscope trust {tmp_path}" in first["says"]
    trusted.trust(str(tmp_path))
    assert asked(client, "maze") == {"state": "trusted", "says": "", "source": SOURCE}
    assert asked(client, "two words")["state"] == "trusted"
    (tmp_path / ".rollscope" / "viewers" / "maze.js").write_text("steal()")
    changed = asked(client, "maze")
    assert changed["state"] == "untrusted" and "changed since" in changed["says"] and not changed["source"]


@pytest.mark.parametrize("env", ["other", "../../runs/a/run", "..", "", "/etc/passwd", "maze.js/../maze"])
def test_no_name_leads_to_another_file(client: TestClient, tmp_path: Path, env: str) -> None:
    trusted.trust(str(tmp_path))
    assert asked(client, env) == {"state": "none", "says": "", "source": ""}
    assert client.get("/api/runs/nobody/viewer", params={"env": env}).status_code == 404


def test_the_frame_has_no_origin_and_no_network(client: TestClient) -> None:
    policy = client.get("/frame").headers["content-security-policy"]
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["sandbox"] == "allow-scripts"
    assert "connect-src" not in rules and "'unsafe-inline'" not in rules["script-src"]
    assert "frame-src 'self'" in client.get("/").headers["content-security-policy"]
