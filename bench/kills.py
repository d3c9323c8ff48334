"""`kill -9` at random instants, eight processes at a time: which rows are lost, and how old?"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import results
from rollscope.store.log.block import Metrics
from rollscope.store.log.scan import scan

HERE = Path(__file__).parent
TRAIN = """
import sys, os, time
import rollscope as rs
run = rs.init(name="k", id="k", dir=sys.argv[1], host=False, shard=int(sys.argv[2]), shards=8)
diary = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for step in range(10**9):
    run.log({f"m/{i}": float(step) for i in range(50)}, step=step)
    os.write(diary, f"{step} {time.time_ns()}\\n".encode())
    if step % 400 == 399 and step % 3 == 0:
        run.finish()
        break
    time.sleep(0.002)
time.sleep(60)
"""


BESIDE = """
import sys, os, time
sys.path.insert(0, sys.argv[3])
from peers import PEERS
peer = PEERS[sys.argv[1]](sys.argv[2])
row = {f"m/{i}": 0.5 for i in range(10)}
peer.log(row, 0)
time.sleep(1.5)
print("begin", flush=True)
for step in range(1, 1001):
    peer.log(row, step)
    if step == 1000:
        os.kill(os.getpid(), 9)
    time.sleep(0.002)
"""


def beside(python: str, peer: str, count: int) -> list[dict[str, str]]:
    """Log 1,000 rows at 500 a second, then kill: how many rows are not in the files?"""
    lost: list[float] = []
    env = {**os.environ, "ROLLSCOPE_SEAL": "0", "WANDB_SILENT": "true", "PYTHONPATH": str(HERE.parent / "src")}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(count if peer in ROWS_IN else 0):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            command = [python, "-c", BESIDE, peer, name, str(HERE)]
            subprocess.run(command, env=env, timeout=60, check=False, **quiet)
            lost.append(1_001 - ROWS_IN[peer](Path(name)))
    return [results.row(f"{peer}: rows lost by kill -9 of 1,000 at 500 rows/s", "rows", lost)] if lost else []


def _rows_in_log(folder: Path) -> int:
    blocks = [block for path in folder.rglob("*.log") for block in scan(path).blocks if isinstance(block, Metrics)]
    return len({step for block in blocks for step in block.step.tolist()})


def _rows_in_sqlite(query: str) -> Callable[[Path], int]:
    def count(folder: Path) -> int:
        for path in folder.rglob("*.db"):
            with sqlite3.connect(path) as base, contextlib.suppress(sqlite3.OperationalError):  # another database
                return int(base.execute(query).fetchone()[0])
        return 0

    return count


def _rows_in_events(folder: Path) -> int:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    steps = [
        event.step
        for path in folder.rglob("*tfevents*")
        for event in EventFileLoader(str(path)).Load()
        if event.HasField("summary")
    ]
    return sum(steps.count(step) == 10 for step in set(steps))


def _rows_in_datastore(folder: Path) -> int:
    from wandb.proto import wandb_internal_pb2

    count = 0
    for path in folder.rglob("*.wandb"):
        for data in _leveldb(path.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            count += record.WhichOneof("record_type") == "history"
    return count


def _leveldb(raw: bytes) -> Iterator[bytes]:
    """Records of W&B's file: a header of 7 bytes, then LevelDB's log format.

    That is blocks of 32 kB, with checksum, length and type before each part of a record.
    """
    at, record = 7, b""
    while at + 7 <= len(raw):
        left = 32_768 - at % 32_768
        if left < 7:
            at += left
            continue
        length, kind = int.from_bytes(raw[at + 4 : at + 6], "little"), raw[at + 6]
        if at + 7 + length > len(raw) or kind not in (1, 2, 3, 4):  # the torn end
            return
        record = (b"" if kind in (1, 2) else record) + raw[at + 7 : at + 7 + length]
        if kind in (1, 4):
            yield record
        at += 7 + length


ROWS_IN: dict[str, Callable[[Path], int]] = {
    "rollscope": _rows_in_log,
    "trackio": _rows_in_sqlite("select count(*) from metrics"),
    "mlflow": _rows_in_sqlite("select count(distinct step) from metrics"),
    "tensorboard": _rows_in_events,
    "wandb": _rows_in_datastore,
}


def measure(count: int) -> list[dict[str, str]]:
    """Kill `count` processes of Rollscope, and compare their logs with their diaries."""
    ages: list[float] = []
    lost: list[int] = []
    dice, damaged = random.Random(1), 0
    while len(lost) < count:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for rank, died_ns in enumerate(_killed(folder, dice)):
                steps, damaged_files = _steps_in_logs(folder / "k", rank)
                damaged += damaged_files
                missing = [when for step, when in _diary(folder, rank) if step not in steps]
                lost.append(len(missing))
                ages.append(max((died_ns - when for when in missing), default=0) / 1e6)
        print(f"\r{len(lost)} of {count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [
        results.row("rollscope: rows lost by kill -9 at 500 rows/s", "rows", lost),
        results.row("rollscope: age of the oldest row lost by kill -9", "ms", ages),
        results.row("rollscope: the same, worst", "ms", [max(ages)], len(ages)),
        results.row("rollscope: damaged files after kill -9", "files", [damaged], len(ages)),
    ]


def _killed(folder: Path, dice: random.Random) -> list[int]:
    """Start eight processes and kill them at random instants. Returns when each died."""
    base = [sys.executable, "-c", TRAIN, str(folder)]
    processes = [subprocess.Popen([*base, str(i), str(folder / f"diary{i}")]) for i in range(8)]
    while not all((folder / f"diary{i}").exists() for i in range(8)):
        time.sleep(0.02)
    died = []
    for process in processes:
        time.sleep(dice.random() * 0.4)
        process.kill()
        process.wait()
        died.append(time.time_ns())
    return died


def _diary(folder: Path, rank: int) -> Iterator[tuple[int, int]]:
    """(step, when it was logged)."""
    for line in (folder / f"diary{rank}").read_text().splitlines():
        step, when = line.split()
        yield int(step), int(when)


def _steps_in_logs(folder: Path, rank: int) -> tuple[set[int], int]:
    """The steps of a rank, and how many files are damaged."""
    steps: set[int] = set()
    damaged = 0
    for path in folder.glob("*.log"):
        log = scan(path)
        damaged += bool(log.damage)
        for block in log.blocks:
            if isinstance(block, Metrics) and block.labels.rank == rank:
                new = block.step.tolist()
                assert not steps & set(new), "a row was written twice"
                steps |= set(new)
    return steps, damaged
