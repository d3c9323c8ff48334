"""Large and slow requests are refused with a sentence, and none is waited for without end."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollscope.cli import serve
from rollscope.errors import BadInput
from rollscope.server.app import create
from rollscope.server.front import limits, serving
from tests.server.served import served

LARGE = b" " * (limits.BODY_BYTES + 1)


def reply_to(address: tuple[str, int], data: bytes) -> bytes:
    """All that the server sends until it closes the connection, also if we are late to send."""
    replies = b""
    with socket.create_connection(address, timeout=60) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        while more := connection.recv(65536):
            replies += more
    return replies


def test_a_large_body_is_refused_before_it_is_read(client: TestClient) -> None:
    reply = client.post("/api/series", content=LARGE)
    assert reply.status_code == 413 and "at most 4,194,304" in reply.json()["says"]


def test_a_large_body_of_unknown_length_is_refused(client: TestClient) -> None:
    reply = client.post("/api/runs/a/export", content=iter([LARGE[:1000]] * 5000))
    assert reply.status_code == 413 and "more than 4,194,304" in reply.json()["says"]


def test_large_headers_are_refused(client: TestClient) -> None:
    for reply in (
        client.get("/api/health", headers={"x-large": "x" * limits.HEAD_BYTES}),
        client.get("/api/health", params={"x": "x" * 60_000}, headers={"x-large": "x" * 60_000}),
    ):
        assert reply.status_code == 431 and "65,536" in reply.json()["says"]


def test_a_slow_body_is_not_waited_for(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    head = (
        b"POST /api/series HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"
    )
    with served(store) as address:
        reply = reply_to(address, head)
    assert reply.startswith(b"HTTP/1.1 408") and b"did not arrive" in reply


@pytest.mark.parametrize("data", [b"GET /api/hea", b"GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: y"])
def test_a_slow_head_is_not_waited_for(store: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    with served(store) as address:
        reply = reply_to(address, data)
        assert reply.startswith(b"HTTP/1.1 408") and "head" in json.loads(reply.split(b"\r\n\r\n")[1])["says"]
        assert reply_to(address, b"") == b""


def test_a_slow_head_after_a_request_is_not_waited_for(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(store) as address, socket.create_connection(address, timeout=60) as connection:
        connection.sendall(b"GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        replies = connection.recv(65536)
        while not replies.endswith(b"}"):
            replies += connection.recv(65536)
        monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
        connection.sendall(b"GET /api")
        replies += b"".join(iter(lambda: connection.recv(65536), b""))
    assert replies.startswith(b"HTTP/1.1 200") and b"HTTP/1.1 408" in replies


def test_an_endless_head_is_cut(store: Path) -> None:
    with served(store) as address:
        lines = b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * (3 * limits.HEAD_BYTES)
        with socket.create_connection(address, timeout=60) as connection:
            with contextlib.suppress(ConnectionError):  # it need not read all of it
                connection.sendall(lines)
            assert connection.recv(12) in (b"HTTP/1.1 431", b"HTTP/1.1 400")


FORWARDED = {"origin": "https://hub.example", "x-forwarded-host": "hub.example"}


@pytest.mark.parametrize(
    ("peer", "told", "status"),
    [("127.0.0.1", False, 200), ("::1", False, 200), ("10.0.0.7", False, 403), ("10.0.0.7", True, 200)],
)
def test_a_forwarded_host_counts_from_this_machine_or_when_told(
    store: Path, peer: str, told: bool, status: int
) -> None:
    app = create(str(store), behind_proxy=told)
    with TestClient(app, base_url="http://127.0.0.1", client=(peer, 5)) as client:
        reply = client.post("/api/series", json={"runs": [], "names": []}, headers=FORWARDED)
        assert reply.status_code == status
        rebound = client.get("/api/runs", headers={"host": "evil.example", "x-forwarded-host": "127.0.0.1"})
        assert rebound.status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_an_address_that_others_reach_needs_a_word(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match=r"ssh -L 7700.*--insecure"):
        serve._check_open_to_network(host, 7700, False)
    serve._check_open_to_network(host, 7700, True)
    assert "no sign-in" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_an_address_of_this_machine_needs_none(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    serve._check_open_to_network(host, 7700, False)
    assert capsys.readouterr().err == ""
