"""Real targets on this machine: a web server that answers as it is told, and a mail server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rollscope.diagnose.finding import Finding

GENEROUS = 60.0


def wait_for(is_true: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + GENEROUS
    while not is_true():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)


class Hook:
    """A webhook. `answers` are used up one a request; then every request is taken with 200."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.taken: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[Any] = []
        self.release = threading.Event()  # ends what the server waits for
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = hook.answers.pop(0) if hook.answers else 200
                hook.headers.append(dict(self.headers))
                hook.got.append(body)
                if callable(answer):
                    answer(self)
                    return
                if answer == 200:
                    hook.taken.append(body)
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                hook.got.append({"method": "GET", "path": self.path})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/T0P5ECRET"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    yield hook
    hook.close()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")


def found(rule: str = "kl-takeoff", step: int = 40, until: int | None = None, **more: Any) -> Finding:
    fields: dict[str, Any] = {"claim": "KL took off", "evidence": "0.3 now.", "severity": "bad", "check": ("the lr",)}
    return Finding(step=step, until=until, rule=rule, title="t", **fields | more)
