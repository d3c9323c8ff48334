"""A server that is asked to tells a target about every run that goes on, once."""

from __future__ import annotations

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.notify.target import target
from rollscope.server.app import application


class Hook(BaseHTTPRequestHandler):
    got: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_a_running_run_with_a_finding_is_told_once_and_a_finished_one_never(tmp_path: Path) -> None:
    Hook.got = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with rs.init(id="old", dir=tmp_path, host=False) as old:
        for step in range(30):
            old.log({"policy/loss_total": math.nan}, step=step)
    run = rs.init(id="new", dir=tmp_path, host=False)
    try:
        with TestClient(application(str(tmp_path), notify=[target(f"http://127.0.0.1:{server.server_port}/")])):
            step, end = 0, time.monotonic() + 60
            while step < 400 or not Hook.got:  # some looks after the first notice
                run.log({"policy/loss_total": math.nan}, step=(step := step + 1))
                time.sleep(0.02)
                assert time.monotonic() < end
    finally:
        run.finish()
        server.shutdown()
        server.server_close()
        thread.join()
    assert [(n["run"], n["event"], n["rule"]) for n in Hook.got] == [("new", "opened", "non-finite")]
