"""A soak: a living run and 20 listeners that read it as a page does. Does memory stay flat?

`python bench/soak.py [seconds]` (180 by default). The server and the trainer are processes of their
own; with `--src DIR` they run another version's code. Each listener holds an event stream open and,
when the run grows, asks what the Overview and the Metrics page ask, at most once in two seconds.
Memory is the server's resident set, and the part of it that no file backs: pages of files can be
dropped at any time. Answers come and go, so of each half minute the lowest reading counts: what is
kept. Its growth is measured after an opening in which modules are imported and caches fill.
`--pace` (steps a second) and `--text` (characters of a completion) tell what steps and texts add.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
from scipy import stats

import results

HERE = Path(__file__).parent
LISTENERS = 20
PATIENCE = 2.0  # seconds between two refreshes of one listener
EVERY = 5.0  # seconds between two readings of memory
OPENING = 180.0  # seconds, at most half of the soak
SPAN = 30.0  # seconds: of their readings the lowest counts
SHORTEST = 180.0  # seconds: fewer have no three spans after the opening
NAMES = [f"m/{i}" for i in range(12)]
TRAIN = """
import random, sys, time
import rollscope as rs
run = rs.init(project="soak", name="soak", id="soak", dir=sys.argv[1], host=False, algorithm="grpo")
names = [f"m/{i}" for i in range(100)]
begin = time.monotonic()
for step in range(10**9):
    with run.span("generate", lane="rollout/0"):
        run.log({name: random.random() for name in names} | {"reward/mean": random.random()}, step=step)
    rows = [{"id": f"{step}.{i}", "group": f"g{i // 4}", "task": f"t{(step + i // 4) % 50}", "reward": random.random(),
             "prompt": "p" * 200, "completion": "c" * int(sys.argv[3]), "completion_tokens": 200} for i in range(16)]
    run.log_samples(step=step, samples=rows)
    run.commit(step)
    time.sleep(max(0.0, begin + (step + 1) / float(sys.argv[2]) - time.monotonic()))
"""


def resident(pid: int) -> tuple[float, float]:
    """Resident memory of a process in MB, and the part of it that no file backs."""
    pages = [int(word) for word in Path(f"/proc/{pid}/statm").read_text().split()[1:3]]
    size = os.sysconf("SC_PAGE_SIZE") / 1e6
    return pages[0] * size, (pages[0] - pages[1]) * size


@contextlib.contextmanager
def process(*command: str, src: Path) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": str(src)}
    child = subprocess.Popen([sys.executable, *command], env=env, stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def server(folder: str, src: Path) -> Iterator[tuple[int, str]]:
    """A server's process id and address."""
    with process("-m", "rollscope", "serve", folder, "--port", "0", "--no-browser", "--json", src=src) as child:
        assert child.stdout is not None
        yield child.pid, json.loads(child.stdout.readline())["url"]


def listen(url: str, until: float, counts: dict[str, int]) -> None:
    """One tab: its event stream, and its page's questions when the run grows."""
    last = 0.0
    with httpx.Client(base_url=url, timeout=60, verify=False) as client, contextlib.suppress(httpx.HTTPError):
        with client.stream("GET", "api/live") as stream:
            for line in stream.iter_lines():
                if time.monotonic() > until:
                    return
                if line.startswith("data: ") and time.monotonic() - last > PATIENCE:
                    last = time.monotonic()
                    answered = _refresh(client)  # before the sum: twenty tabs add to it
                    counts["refreshes"] += answered


def _refresh(client: httpx.Client) -> int:
    with contextlib.suppress(httpx.HTTPError):
        for path in ("tape", "overview", "names", "rollouts"):
            client.get(f"api/runs/soak/{path}")
        client.post("api/series", json={"runs": ["soak"], "names": NAMES})
        client.get("api/runs")
        return 1
    return 0


def measure(seconds: float, src: Path, pace: float, text: int) -> tuple[list[tuple[float, float]], int]:
    """The server's memory every few seconds, and how many refreshes were answered."""
    counts = {"refreshes": 0}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, server(folder, src) as (pid, url):
        with process("-c", TRAIN, folder, str(pace), str(text), src=src):
            until, memory = time.monotonic() + seconds, list[tuple[float, float]]()
            tabs = [threading.Thread(target=listen, args=(url, until, counts), daemon=True) for _ in range(LISTENERS)]
            for tab in tabs:
                tab.start()
            while time.monotonic() < until:
                time.sleep(EVERY)
                memory.append(resident(pid))
                whole, own = memory[-1]
                said = f"{whole:7.1f} MB, {own:.1f} of its own  {counts['refreshes']} refreshes"
                print(f"{len(memory) * EVERY:6.0f} s  {said}", flush=True)
            return memory, counts["refreshes"]


def figures(what: str, memory: list[float]) -> list[dict[str, str]]:
    third = max(1, len(memory) // 3)
    low, growth, high = slope(memory)
    return [
        results.row(f"{what}, first third", "MB", memory[:third]),
        results.row(f"{what}, last third", "MB", memory[-third:]),
        results.row(f"{what}, growth after the opening", "MB/min", [growth]),
        results.row(f"{what}, growth after the opening, low end of its 95 % interval", "MB/min", [low]),
        results.row(f"{what}, growth after the opening, high end of its 95 % interval", "MB/min", [high]),
    ]


def slope(memory: list[float]) -> tuple[float, float, float]:
    """Growth of what is kept, in MB a minute, between the ends of its 95 % interval (Theil-Sen)."""
    opening, each = min(int(OPENING / EVERY), len(memory) // 2), int(SPAN / EVERY)
    starts = range(opening, len(memory) - each + 1, each)
    kept = [min(memory[start : start + each]) for start in starts]
    growth = stats.theilslopes(kept, np.array(starts) * EVERY / 60, 0.95)
    return float(growth.low_slope), float(growth.slope), float(growth.high_slope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=180.0)
    parser.add_argument("--src", type=Path, default=HERE.parent / "src", help="the code to run")
    parser.add_argument("--pace", type=float, default=20.0, help="steps a second of the run")
    parser.add_argument("--text", type=int, default=6000, help="characters of a completion")
    parser.add_argument("--label", default="rollscope serve", help="whose figures these are")
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    args = parser.parse_args()
    if args.seconds < SHORTEST:
        parser.error(f"{args.seconds:g} seconds say nothing about growth; give {SHORTEST:g} or more")
    memory, refreshes = measure(args.seconds, args.src, args.pace, args.text)
    what = f"{LISTENERS} listeners, {args.pace:g} steps/s x {args.text:,}, {args.seconds:.0f} s"
    rows = [
        *figures(f"{args.label}: memory, {what}", [whole for whole, _ in memory]),
        *figures(f"{args.label}: memory that no file backs, {what}", [own for _, own in memory]),
        results.row(f"{args.label}: refreshes answered in {args.seconds:.0f} s", "refreshes", [float(refreshes)]),
    ]
    results.show(rows)
    if not args.dry:
        results.append(rows)


if __name__ == "__main__":
    main()
