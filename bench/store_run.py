"""Large runs to measure the store with, written block by block as the recorder writes them.

`metrics(folder)` writes 1,000 metrics x 10,000 steps; `samples(folder)` writes 1 M samples in 2,000
steps, in groups of ten, with 2 kB of text each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.store.log import block
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter

T0 = 1_700_000_000_000_000_000
ROTATE = 64 << 20
FIRST = "00000000000000aa"  # the name of a writer
COMMON = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one"
)
WORDS = [*"etaoinshrdlcumwfgypb", *COMMON.split()]


class Writer:
    """One process. It starts a new log when one is full, as the recorder does."""

    def __init__(self, folder: Path, writer: str = FIRST) -> None:
        self.folder, self.writer, self.seq = folder, writer, 0
        folder.mkdir(parents=True, exist_ok=True)
        facts = {"id": folder.name, "name": folder.name, "project": "bench", "started_ns": T0, "config": {}}
        (folder / "run.json").write_text(json.dumps(facts))
        self._open()

    def _open(self) -> None:
        self.seq += 1
        self.log = LogWriter(self.folder / file_name(self.writer, self.seq))
        self.log.append([block.meta("open", {"writer": self.writer, "pid": 0, "host": "bench", "rank": 0})])

    def append(self, payload: bytes) -> None:
        self.log.append([payload])
        if self.log.size > ROTATE:
            self.close()
            self._open()

    def close(self) -> None:
        self.log.append([block.meta("end", {})])
        self.log.close()


def realistic(rng: np.random.Generator, steps: int, names: int) -> np.ndarray[Any, Any]:
    """Series like those of training: noisy trends, shares of a batch, constants, counters."""
    t = np.arange(steps)[:, None] / steps
    trend = rng.normal(size=names) * t + rng.normal(size=names)
    noisy = (trend + 0.05 * rng.normal(size=(steps, names))).astype(np.float32).astype(np.float64)
    shares = np.round(np.clip(np.abs(trend), 0, 1) * 512 + rng.integers(-8, 9, (steps, names))) / 512
    still = np.broadcast_to(rng.random(names), (steps, names))
    counters = np.arange(steps)[:, None] * rng.integers(1, 4096, names).astype(np.float64)
    kind = rng.choice(4, size=names, p=[0.55, 0.25, 0.1, 0.1])
    return np.choose(kind, [noisy, shares, still, counters])


def metrics(
    folder: Path,
    names: int = 1000,
    steps: int = 10_000,
    random: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    rng, writer = np.random.default_rng(0), Writer(folder)
    keys = [f"section{i // 50}/group{i // 10 % 5}/metric_{i}" for i in range(names)]
    time_ns = T0 + np.cumsum(rng.integers(900_000_000, 1_100_000_000, steps))
    values = rng.random((steps, names)) if random else realistic(rng, steps, names)
    for start in range(0, steps, 8):
        rows = np.zeros(min(8, steps - start), block.row_type(names))
        rows["step"] = np.arange(start, start + len(rows))
        rows["time_ns"] = time_ns[start : start + len(rows)]
        rows["values"] = values[start : start + len(rows)]
        writer.append(block.wide(keys, None, rows.tobytes(), block.Labels()))
        tell(start, steps)
    writer.close()


def samples(
    folder: Path,
    steps: int = 2000,
    size: int = 500,
    group: int = 10,
    text: int = 2000,
    tell: Callable[[int, int], None] = lambda done, total: None,
    writer: str = FIRST,
) -> None:
    rng, log = np.random.default_rng(0), Writer(folder, writer)
    pool = [" ".join(rng.choice(WORDS, text // 4))[:text] for _ in range(2000)]
    for step in range(steps):
        rows = [_sample(rng, step, i, group, pool) for i in range(size)]
        log.append(block.table("samples", rows, {"attempt": 1}))
        tell(step, steps)
    log.close()


def one_more_step(folder: Path, step: int, size: int = 500) -> None:
    """The samples that a running experiment adds, from another process."""
    Writer(folder, f"{step:016x}").append(samples_of_step(step, size))


def samples_of_step(step: int, size: int) -> bytes:
    rng = np.random.default_rng(step)
    rows = [_sample(rng, step, i, 10, ["late text " * 60]) for i in range(size)]
    return block.table("samples", rows, {"attempt": 1})


def _sample(rng: np.random.Generator, step: int, i: int, group: int, pool: list[str]) -> dict[str, Any]:
    cut, start = int(rng.integers(200, len(pool[0]) + 1)), int(rng.integers(len(pool)))
    reward = float(rng.integers(0, 3)) / 2
    needle = " serendipity " if rng.random() < 0.0005 else ""
    return {
        "id": f"{step}-{i}",
        "step": step,
        "time_ns": T0 + step * 10**9 + i,
        "group": f"{step}-{i // group}",
        "task": f"task-{(step * 50 + i // group) % 7919}",
        "repeat": i % group,
        "env": "math",
        "split": "train",
        "reward": reward,
        "score": reward,
        "advantage": reward - 0.5,
        "prompt_tokens": 64,
        "completion_tokens": cut // 4,
        "response_tokens": cut // 4,
        "stop_reason": "length" if cut > 1900 else "stop",
        "trained": bool(rng.random() < 0.9),
        "prompt": f"Question {(step * 50 + i // group) % 7919}: what is it?",
        "completion": f"{step} {i} " + pool[start][:cut] + needle + pool[(start + 1) % len(pool)],
    }
