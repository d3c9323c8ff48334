"""`deploy/nginx.conf` before a server over a lake: TLS, cookies, events, and shipped runs."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rollscope.access import tokens
from rollscope.lake import spool
from rollscope.lake.place import Place
from rollscope.lake.serving import tokens as lake_tokens
from rollscope.lake.shipping.through_server import ThroughServer
from tests.lake.life import Life, check_same
from tests.lake.served import PATIENCE, Server, serving
from tests.lake.servers import wait_for
from tests.ports import free_port

CONF = Path(__file__).parents[2] / "deploy" / "nginx.conf"
AROUND = """
daemon off; pid {home}/pid; error_log {home}/errors;
events {{}}
http {{ access_log off; client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; {conf} }}
"""


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(pem)]
    subprocess.run(make, check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    return pem, key


@pytest.fixture
def served(lake: Place, tmp_path: Path) -> Iterator[Server]:
    tokens.make(lake_tokens.book(lake), "first", ["*"], "read", 1)
    with serving(lake, tmp_path / "server", "--sign-in", "--behind-proxy") as server:
        yield server


@pytest.fixture
def nginx(served: Server, certificate: tuple[Path, Path], tmp_path: Path) -> Iterator[str]:
    """The address of nginx before the server."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    port, home = free_port(), tmp_path / "nginx"
    home.mkdir()
    conf = CONF.read_text().replace("listen 443", f"listen 127.0.0.1:{port}")
    conf = conf.replace("http://127.0.0.1:7700", served.url.rstrip("/"))
    conf = conf.replace("/etc/ssl/runs.example.org.pem", str(certificate[0]))
    (home / "conf").write_text(
        AROUND.format(home=home, conf=conf.replace("/etc/ssl/runs.example.org.key", str(certificate[1])))
    )
    process = subprocess.Popen([program, "-e", str(home / "errors"), "-p", str(home), "-c", str(home / "conf")])
    try:
        wait_for(port)
        yield f"https://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_everything_passes_nginx(
    nginx: str, certificate: tuple[Path, Path], lake: Place, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tokens.make(lake_tokens.book(lake), "trainer", ["p/1"], "record", 1)[1]
    monkeypatch.setenv("ROLLSCOPE_TOKEN", text)
    life.happen()
    assert ThroughServer(nginx, str(life.path)).push().ships
    check_same(lake, life, ["samples", "metrics"])
    trusts = ssl.create_default_context(cafile=str(certificate[0]))
    with httpx.Client(base_url=nginx, verify=trusts, timeout=PATIENCE) as client:
        ours, foreign = {"origin": nginx.rstrip("/")}, {"origin": "https://evil.example.org"}
        assert client.post("api/session", json={"token": text}, headers=foreign).status_code == 403
        signed = client.post("api/session", json={"token": text}, headers=ours)
        assert signed.status_code == 200 and "Secure" in signed.headers["set-cookie"]
        with client.stream("GET", "api/live") as events:
            assert next(line for line in events.iter_lines() if line.startswith("data:"))  # not held back
        query = {"project": "p/1", "name": "run.json", "kind": "whole", "start": 0, "sha256": "0" * 64}
        address, bearer = "api/lake/runs/x/objects", {"authorization": f"Bearer {text}"}
        whole = client.put(address, params=query, content=b"x" * spool.PIECE, headers=bearer)
        assert whole.status_code == 422  # it has arrived, with another checksum
        assert client.put(address, params=query, content=b"x" * (18 << 20), headers=bearer).status_code == 413
