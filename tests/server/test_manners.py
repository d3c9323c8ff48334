"""One error shape, named unknown parameters, refused hosts and origins, and safe headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollscope.server.app import create

BROKEN = [
    ("GET", "/api/nothing", 404),
    ("GET", "/api/runs/missing", 404),
    ("GET", "/api/runs/..%2F..%2Fetc", 404),
    ("GET", "/api/runs/%2e%2e/names", 404),
    ("GET", "/api/runs?page=2", 400),
    ("GET", "/api/runs/a/point?name=reward/mean&step=abc", 400),
    ("GET", "/api/runs/a/point?name=nope&step=1", 404),
    ("GET", "/api/runs/a/samples?limit=0", 400),
    ("GET", "/api/glossary/entry?name=no/such/metric", 404),
    ("DELETE", "/api/runs/a", 405),
    ("POST", "/api/series", 400),
]


@pytest.mark.parametrize(("method", "path", "status"), BROKEN, ids=lambda v: str(v))
def test_every_failure_is_a_sentence_in_one_shape(client: TestClient, method: str, path: str, status: int) -> None:
    reply = client.request(method, path)
    assert reply.status_code == status
    assert set(reply.json()) == {"error", "says"} and len(reply.json()["says"]) > 8


def test_an_unknown_parameter_is_named(client: TestClient) -> None:
    says = client.get("/api/runs/a/samples?stepp=3").json()["says"]
    assert "stepp" in says and "step" in says


def test_an_unknown_field_of_a_body_is_named(client: TestClient) -> None:
    reply = client.post("/api/series", json={"runs": ["a"], "names": [], "pionts": 3})
    assert reply.status_code == 400 and "pionts" in reply.json()["says"]


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1", True),
        ("localhost:7700", True),
        ("[::1]:80", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_only_our_own_names_are_answered(client: TestClient, host: str, allowed: bool) -> None:
    assert (client.get("/api/runs", headers={"host": host}).status_code == 200) is allowed


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://127.0.0.1", True),
        (None, True),
        ("http://evil.example", False),
        ("null", False),
        ("http://127.0.0.1:9", False),
    ],
)
def test_only_our_own_pages_may_write(client: TestClient, origin: str | None, allowed: bool) -> None:
    headers = {"origin": origin} if origin else {}
    assert (client.post("/api/series", json={"runs": [], "names": []}, headers=headers).status_code == 200) is allowed


def test_the_page_lets_no_foreign_script_run(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    for part in ("default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert client.get("/").headers["x-content-type-options"] == "nosniff"


def test_files_are_cached_for_ever_and_the_page_never(client: TestClient) -> None:
    web = client.get("/api/health").json()["web"]
    file = client.get(f"/web/{web}/main.js")
    assert "immutable" in file.headers["cache-control"] and file.headers["content-type"].startswith("text/javascript")
    assert client.get("/").headers["cache-control"] == "no-cache"
    assert client.get("/web/0123456789abcdef/main.js").status_code == 404


@pytest.mark.parametrize(
    "path", ["../pyproject.toml", "..%2f..%2fpyproject.toml", "index.html", "vendor/VENDOR.toml", "/etc/passwd"]
)
def test_nothing_but_the_web_is_served(client: TestClient, path: str) -> None:
    web = client.get("/api/health").json()["web"]
    reply = client.get(f"/web/{web}/{path}")
    assert reply.status_code == 404 or b"<!doctype html>" in reply.content[:40]


@pytest.mark.parametrize(("path", "up"), [("/", "./"), ("/r/a/metrics", "../../"), ("/glossary", "./")])
def test_pages_link_relatively_from_any_depth(client: TestClient, path: str, up: str) -> None:
    text = client.get(path).text
    assert f'content="{up}"' in text and f'src="{up}web/' in text
    assert 'src="/' not in text and 'href="/' not in text and "http:" not in text


def test_a_prefix_that_a_proxy_passes_on_is_removed(store: Path) -> None:
    with TestClient(create(str(store), root_path="/x/"), base_url="http://127.0.0.1") as client:
        assert client.get("/x/api/runs").json() == client.get("/api/runs").json()
        assert client.get("/x/r/a/metrics").status_code == 200


def test_the_api_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    reply = client.get("/api/")
    assert "/api/series" in reply.text and "https://" not in reply.text and "<script" not in reply.text


def test_an_empty_or_missing_folder_is_an_empty_list(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "not-yet"):
        with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
            assert client.get("/api/runs").json()["runs"] == []
