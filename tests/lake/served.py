"""`rollscope serve --lake` in a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from rollscope.lake.place import Place

PATIENCE = 60.0


class Server:
    """A server that may be killed and started again on the same port."""

    def __init__(self, lake: Place, home: Path, *words: str, port: int = 0) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.said = home / "said.txt"
        command = [sys.executable, "-m", "rollscope", "serve", "--lake", lake.folder, "--port", str(port), "--json"]
        env = {**os.environ, "ROLLSCOPE_CACHE": str(home / "cache")}
        with self.said.open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, *words], stdout=subprocess.PIPE, stderr=errors, text=True, env=env, cwd=home
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said.read_text()
        self.url = json.loads(line)["url"]
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                httpx.get(f"{self.url}api/health", timeout=PATIENCE)
                return
            except httpx.TransportError:
                assert time.monotonic() < until
                time.sleep(0.05)

    def client(self, token: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(lake: Place, home: Path, *words: str) -> Iterator[Server]:
    server = Server(lake, home, *words)
    try:
        yield server
    finally:
        server.kill()
