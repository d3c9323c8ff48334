"""`kill -9` at random instants over eight processes at a time: every run opens, and how old the newest row is that did not make it."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results
from rollscope.store.block import Metrics
from rollscope.store.log import scan

TRAIN = """
import sys, os, time
import rollscope as rs
run = rs.init(name="k", id="k", dir=sys.argv[1], host=False, shard=int(sys.argv[2]), shards=8)
said = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for step in range(10**9):
    run.log({f"m/{i}": float(step) for i in range(50)}, step=step)
    os.write(said, f"{step} {time.time_ns()}\\n".encode())
    if step % 400 == 399 and step % 3 == 0:
        run.finish()
        break
    time.sleep(0.002)
time.sleep(60)
"""


def measure(count: int) -> list[dict[str, str]]:
    dice, ages, lost, damaged = random.Random(1), [], [], 0
    while len(lost) < count:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            processes = [subprocess.Popen([sys.executable, "-c", TRAIN, name, str(i), str(folder / f"said{i}")]) for i in range(8)]
            while not all((folder / f"said{i}").exists() for i in range(8)):
                time.sleep(0.02)
            died = []
            for process in processes:
                time.sleep(dice.random() * 0.4)
                process.kill()
                process.wait()
                died.append(time.time_ns())
            for i, at in enumerate(died):
                kept, bad = _kept(folder / "k", i)
                damaged += bad
                said = [tuple(map(int, line.split())) for line in (folder / f"said{i}").read_text().splitlines()]
                missing = [(step, when) for step, when in said if step not in kept]
                lost.append(len(missing))
                ages.append(max((at - when for _, when in missing), default=0) / 1e6)
        print(f"\r{len(lost)} of {count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = [
        results.row("rollscope: rows lost by kill -9 at 500 rows/s", "rows", lost),
        results.row("rollscope: age of the oldest row lost by kill -9", "ms", ages),
    ]
    worst = [
        results.row("rollscope: the same, worst", "ms", [max(ages)], len(ages)),
        results.row("rollscope: damaged files after kill -9", "files", [damaged], len(ages)),
    ]
    return rows + worst


def _kept(folder: Path, rank: int) -> tuple[set[int], int]:
    steps: set[int] = set()
    damaged = 0
    for path in folder.glob("*.log"):
        found = scan(path)
        damaged += bool(found.damage)
        for block in found.blocks:
            if isinstance(block, Metrics) and block.labels.rank == rank:
                new = block.step.tolist()
                assert not steps & set(new), "a row was written twice"
                steps |= set(new)
    return steps, damaged
