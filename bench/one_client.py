"""One client asks far too much: are health and pages answered meanwhile, and what memory goes?

`python bench/one_client.py [seconds]` (15 by default). The server is a process of its own; with
`--src DIR` it runs another version's code. Forty connections ask endless exports and endless SQL,
and ask again when answered; `--bomb` adds questions that take 13 GB where nothing limits them.
Meanwhile one other reader asks for health and for pages of another run. Memory is that of the
server and its children together.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np

import rollscope as rs

HERE = Path(__file__).parent
GREEDY = 40
CONDITION = "(select count(*) from range(1000000000000) where hash(range) = 1) >= 0"
BOMBS = ["select list_sort(range(100000000))", "select repeat('a', 1000000000)"]
CHEAP = {"health": ("/api/health",), "page": ("/api/runs/b", "/api/runs/b/samples", "/api/runs", "/r/b")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=15.0)
    parser.add_argument("--src", default=str(HERE.parent / "src"), help="the code that the server runs")
    parser.add_argument("--bomb", action="store_true", help="ask for memory too: keep 20 GB free for older code")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        with server(folder, args.src) as (process, port):
            attack(port, process.pid, args.seconds, args.bomb)


def record(folder: str) -> None:
    for name in ("a", "b"):
        with rs.init(project="p", name=name, id=name, dir=folder, host=False) as run:
            for step in range(50):
                run.log({"reward/mean": step / 50}, step=step)
                run.log_samples(step=step, samples=[{"id": f"{step}.{i}", "reward": 1.0} for i in range(8)])


@contextlib.contextmanager
def server(folder: str, src: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "rollscope", "serve", folder, "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONPATH": src}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield process, int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
    finally:
        process.kill()
        process.wait()


def attack(port: int, server: int, seconds: float, bomb: bool) -> None:
    until_up(port)
    ask(port, "GET", "/api/runs/b/samples")  # the server is warm
    over = time.monotonic() + seconds
    for number in range(GREEDY):
        threading.Thread(target=greedy, args=(port, number, over, bomb), daemon=True).start()
    times: dict[str, list[float]] = {kind: [] for kind in CHEAP}
    peak = 0
    while time.monotonic() < over:
        for kind, paths in CHEAP.items():
            for path in paths:
                times[kind].append(ask(port, "GET", path))
        peak = max(peak, memory(server))
        time.sleep(0.05)
    for kind, values in times.items():
        p50, p95, most = np.percentile(values, [50, 95, 100]) * 1000
        print(f"{kind}: {len(values)} answers, p50 {p50:.0f} ms, p95 {p95:.0f} ms, longest {most:.0f} ms")
    print(f"memory of the server and its children: at most {peak >> 20} MB")


def until_up(port: int) -> None:
    """Wait for the first answer: the address is printed before the server listens."""
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            ask(port, "GET", "/api/health")
            return
        time.sleep(0.1)


def greedy(port: int, number: int, over: float, bomb: bool) -> None:
    while time.monotonic() < over:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if number % 2:
                ask(port, "GET", f"/api/runs/a/export?where={quote(CONDITION)}")
            else:
                query = BOMBS[number // 2 % 2] if bomb else f"select {CONDITION}"
                ask(port, "POST", "/api/runs/a/sql", json.dumps({"query": query}))


def ask(port: int, method: str, path: str, body: str | None = None) -> float:
    """Seconds until the whole answer was there."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"content-type": "application/json"} if body else {})
        connection.getresponse().read()
    return time.perf_counter() - began


def memory(server: int) -> int:
    """Resident bytes of a process and of its children."""
    children = Path(f"/proc/{server}/task").glob("*/children")
    processes = [str(server), *(child for file in children for child in file.read_text().split())]
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


if __name__ == "__main__":
    main()
