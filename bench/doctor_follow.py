"""What following a live run costs, and how soon a finding is told.

`python bench/doctor_follow.py [STEPS] [--dry]`. A run logs a step every ten seconds, with samples,
while `rollscope doctor --follow` watches it. After STEPS of them the gradient is NaN, and the time
until a webhook hears of it is taken. The processor's time of the doctor is read from /proc.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

import results
import rollscope as rs
from rollscope.record.run import Run

BEFORE = 150  # steps that are there when the doctor comes
EVERY = 10.0  # seconds of a step
SETTLES = 20.0  # seconds in which the doctor starts and reads what is there
PATIENCE = 60.0
chance = np.random.default_rng(0)


def listening(heard: queue.Queue[float]) -> ThreadingHTTPServer:
    """A webhook that notes when it is called."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.put(time.monotonic())
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def log(run: Run, step: int, grad: float = 1.0) -> None:
    """What a training logs in a step."""
    known = {"reward/generated/mean": 0.3 + 0.001 * step, "policy/entropy": 1.0, "optimiser/grad_norm": grad}
    run.log({**known, **{f"m{i}": value for i, value in enumerate(chance.random(40).tolist())}}, step=step)
    rows = [
        {"id": f"{step}.{i}", "group": f"{step}.{i // 8}", "reward": float(i % 2), "completion": "word " * 50}
        for i in range(64)
    ]
    run.log_samples(rows, step=step)


def processor(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measured(run: Run, folder: str, steps: int) -> tuple[float, float]:
    """The share of a core that following takes, and the seconds until a webhook hears of NaN."""
    heard: queue.Queue[float] = queue.Queue()
    server = listening(heard)
    command = [str(Path(sys.executable).with_name("rollscope")), "doctor", run.id, "--dir", folder, "--follow"]
    doctor = subprocess.Popen(
        [*command, "--notify", f"http://127.0.0.1:{server.server_port}/"], stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(SETTLES)
        used, began = processor(doctor.pid), time.monotonic()
        for step in range(BEFORE, BEFORE + steps):
            log(run, step)
            time.sleep(EVERY)
        share = (processor(doctor.pid) - used) / (time.monotonic() - began)
        broke = time.monotonic()
        log(run, BEFORE + steps, grad=float("nan"))
        return share, heard.get(timeout=PATIENCE) - broke
    finally:
        doctor.terminate()
        doctor.wait()
        server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=12)
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with rs.init(name="followed", dir=folder, host=False) as run:
            for step in range(BEFORE):
                log(run, step)
            share, seconds = measured(run, folder, args.steps)
    rows = [
        results.row("doctor following a run of 10 s steps: share of a core", "%", [100 * share], args.steps),
        results.row("doctor: from a NaN to a webhook", "s", [seconds]),
    ]
    results.show(rows)
    if not args.dry:
        results.append(rows)


if __name__ == "__main__":
    main()
