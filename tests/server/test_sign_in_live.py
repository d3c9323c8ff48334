"""Sign-in over real connections: streams of events, TLS, and a token that nothing keeps or logs."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rollscope.access import tokens
from rollscope.access.sqlite_book import SqliteBook
from tests.server.two_projects import OURS, THEIRS, bearer, record, token

PATIENCE = 60.0


@contextmanager
def serving(folder: Path, *more: str, verify: Any = True) -> Iterator[tuple[str, Path]]:
    """`rollscope serve --sign-in` in a process of its own, and the file with all that it says."""
    said = folder.parent / f"{folder.name}-said.txt"
    command = [sys.executable, "-m", "rollscope", "serve", str(folder), "--port", "0", "--json", "--sign-in", *more]
    with said.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                httpx.get(f"{url}api/health", verify=verify)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url, said
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live") / "runs"
    record(folder)
    return folder


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    return (json.loads(line[5:]) for line in lines if line.startswith("data:"))


def test_a_stream_tells_of_the_tokens_runs_and_ends_with_the_token(folder: Path) -> None:
    ours, every = token(folder, "ours"), token(folder, "*", may="admin")
    with serving(folder) as (url, _), httpx.Client(base_url=url, timeout=PATIENCE) as client:
        with client.stream("GET", "api/live", headers=bearer(ours)) as stream:
            events = _events(stream.iter_lines())
            assert next(events)["kind"] == "hello"
            for run in (THEIRS, OURS):
                note = {"text": f"a note on {run}"}
                assert client.post(f"api/runs/{run}/notes", json=note, headers=bearer(every)).status_code == 200
            heard = next(event for event in events if event["kind"] == "run")
            assert heard["run"] == OURS
            tokens.revoke(SqliteBook(str(folder)), ours.split("_")[1], "root")
            with pytest.raises((httpx.RemoteProtocolError, StopIteration)):
                while True:
                    assert next(events).get("run") != THEIRS
        assert client.get("api/runs", headers=bearer(ours)).status_code == 401


def test_a_token_is_in_no_file_and_nothing_that_is_said(folder: Path) -> None:
    text = token(folder, "ours", may="admin")
    with serving(folder) as (url, said), httpx.Client(base_url=url, timeout=PATIENCE) as client:
        replies = [
            client.post("api/session", json={"token": text}),
            client.get("api/session"),
            client.get(f"api/runs/{OURS}", headers=bearer(text)),
            client.get("api/runs/nothing", headers=bearer(text)),
            client.get(f"?token={text}", follow_redirects=False),
            client.post("api/session", json={"token": text + "x"}),
            client.post("api/session", json={"token": text, "more": 1}),
            client.post(f"api/runs/{OURS}/notes", content=b"{", headers=bearer(text)),
            client.get("api/runs", headers={"authorization": f"Bearer {text} {text}"}),
        ]
        secret = text[-43:]
        for reply in replies:
            told = reply.text + str({k: v for k, v in reply.headers.items() if k != "location"})
            assert secret not in told
    assert secret not in said.read_text()
    for path in folder.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_a_server_speaks_tls_with_its_files(folder: Path, tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("needs openssl to make a certificate")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    trusts = ssl.create_default_context(cafile=str(certificate))
    files = ("--certificate", str(certificate), "--key", str(key))
    patient = {"verify": trusts, "timeout": PATIENCE}
    with serving(folder, *files, verify=trusts) as (url, _), httpx.Client(base_url=url, **patient) as client:
        assert url.startswith("https://")
        reply = client.post("api/session", json={"token": token(folder, "ours")})
        assert reply.status_code == 200 and "Secure" in reply.headers["set-cookie"]
        assert [run["id"] for run in client.get("api/runs").json()["runs"]] == [OURS]
