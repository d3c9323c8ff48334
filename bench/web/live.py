"""How long until a page hears of a step, while the machine is busy and twenty tabs read the run?

`python bench/web/live.py [seconds] [--src DIR] [--dry]` (60 by default). A run commits a step each
second. Twenty listeners read what a page reads whenever the run grows, every core has a busy loop,
and one more listener tells for each step when the stream first spoke of it. With `--src` the server
and the run are another version's. Budget: 95 of 100 steps within a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import httpx
import numpy as np

import hostile
import results
import soak

WRITTEN = 0.05  # seconds: commit() has written when it returns
TRAIN = """
import sys, time
import rollscope as rs
run = rs.init(project="soak", name="soak", id="soak", dir=sys.argv[1], host=False, algorithm="grpo")
names = [f"m/{i}" for i in range(100)]
for step in range(10**9):
    run.log({name: step / (i + 1) for i, name in enumerate(names)}, step=step)
    rows = [{"id": f"{step}.{i}", "group": f"g{i // 4}", "reward": i / 16, "completion": "c" * 500} for i in range(16)]
    run.log_samples(step=step, samples=rows)
    run.commit(step)
    print(step, time.time(), flush=True)
    time.sleep(1)
"""


def tabs(url: str, seconds: float) -> None:
    """Twenty listeners in a process of their own."""
    counts, until = {"refreshes": 0}, time.monotonic() + seconds
    threads = [
        threading.Thread(target=soak.listen, args=(url, until, counts), daemon=True) for _ in range(soak.LISTENERS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)


def heard(url: str, until: float, events: list[tuple[float, float]]) -> None:
    """Note of each event of the run when its files had grown last, and when the event came."""
    with httpx.Client(timeout=60) as client, contextlib.suppress(httpx.HTTPError):
        with client.stream("GET", f"{url}api/live") as stream:
            for line in stream.iter_lines():
                event = json.loads(line[6:]) if line.startswith("data: ") else {}
                if event.get("kind") == "run" and event["tables"]:
                    events.append((event["heard_ns"] / 1e9, time.time()))
                if time.monotonic() > until:
                    return


def delays(seconds: float, src: Path) -> list[float]:
    """Seconds from each commit until an event came that was made after it."""
    events: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, soak.server(folder, src) as (_, url):
        with soak.process("-c", TRAIN, folder, src=src) as run, hostile.busy_cores():
            readers = multiprocessing.get_context("spawn").Process(target=tabs, args=(url, seconds), daemon=True)
            readers.start()
            heard(url, time.monotonic() + seconds, events)
            readers.kill()
            run.kill()
            assert run.stdout is not None
            committed = [float(line.split()[1]) for line in run.stdout]
    first, last = events[0][1], events[-1][0]
    return [
        min(at for grew, at in events if grew >= moment - WRITTEN) - moment
        for moment in committed
        if first < moment <= last
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("--src", type=Path, default=Path(__file__).parent.parent.parent / "src")
    parser.add_argument("--dry", action="store_true", help="append nothing to results.csv")
    args = parser.parse_args()
    found = delays(args.seconds, args.src)
    what = f"web: a step on the stream, {soak.LISTENERS} tabs and every core busy"
    rows = [
        results.row(what, "s", found),
        results.row(f"{what}, 95th percentile", "s", [float(np.percentile(found, 95))], len(found)),
        results.row(f"{what}, worst", "s", [max(found)], len(found)),
    ]
    results.show(rows)
    if not args.dry:
        results.append(rows)


if __name__ == "__main__":
    main()
