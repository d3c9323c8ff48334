"""Recompute metrics of a run: every step that is left, in blocks, each tried three times."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from rollscope.scan.job import Job
from rollscope.scan.work import Places, Progress, Scan, Write, worked
from rollscope.store.run import Run

from .definitions import code_of, entries, ours
from .one_block import Steps, recompute_block

SAMPLES = 4_000  # of a block; a step with more is a block of its own
LOOKED = "recomputed"  # the name of the row that says that a step was computed


def recompute(
    run: Run,
    names: Sequence[str],
    places: Places,
    again: bool = False,
    progress: Progress = lambda done, total: None,
    write: Write | None = None,
) -> Scan:
    """Compute metrics from the samples of a run, for the steps that have no result yet.

    Results are rows of the table `scans` and the series `recomputed/NAME`.
    """
    names = ours(names)
    entries(names)  # raises before any process is started
    code = code_of(names)
    job = Job(recompute_block, (run.path, tuple(names), code, time.time_ns()))
    return worked(run, job, blocks(run, set() if again else computed(run, code)), places, progress, write)


def computed(run: Run, code: str) -> set[int]:
    """The steps that these definitions were computed for."""
    if not run.has("scans"):
        return set()
    rows = run.table("scans", ["step", "name", "code"])
    return {int(step) for step, name, of in zip(*rows.values(), strict=True) if name == LOOKED and of == code}


def blocks(run: Run, done: set[int], size: int = SAMPLES) -> list[Steps]:
    """The steps with samples that are left, oldest first, in blocks of some thousand samples."""
    steps = run.samples(columns=["step"])["step"]
    known, counts = np.unique(steps[~np.isnan(steps.astype(np.float64))].astype(np.int64), return_counts=True)
    found: list[list[int]] = [[]]
    held = 0
    for step, count in zip(known.tolist(), counts.tolist(), strict=True):
        if step in done:
            continue
        if found[-1] and held + count > size:
            found.append([])
            held = 0
        found[-1].append(step)
        held += count
    return [tuple(block) for block in found if block]
