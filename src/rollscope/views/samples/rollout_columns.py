"""The rollouts of a step as a head of words and columns of numbers, for the wire."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run

from . import sample_steps
from .reward_ranges import ranges
from .rollouts import Rollouts, opening_samples, rollouts
from .sample_detail import sample_details

MOST_STEPS = 8  # steps whose columns are kept
Head = dict[str, Any]
Packed = dict[str, NDArray[Any]]
EMPTY: Head = {"step": None, "before": None, "after": None, "last": None, "stepless": 0, "groups": [], "ids": []}


def rollout_columns(run: Run, step: int | None, texts: int, stepless: bool = False) -> tuple[Head, Packed]:
    """Head and columns of the step that `step` means, with the first `texts` samples in full.

    If no sample names a step, or with `stepless`, they are those without one.
    """
    at, before, after = sample_steps.near(run, step)
    known = sample_steps.steps(run)
    if stepless and len(known):
        at, before, after = None, int(known[-1]), None
    if at is None and not run.has("samples"):
        return {**EMPTY, "asked": step}, {}
    table = recent_rollouts(run, at)
    opening = [table.ids[row] for row in opening_samples(table, texts)] if texts else []
    head = {
        "step": table.step,
        "asked": step,
        "before": before,
        "after": after,
        "last": int(known[-1]) if len(known) else None,
        "stepless": sample_steps.stepless(run),
        "ids": table.ids,
        "groups": table.groups,
        "tasks": table.tasks,
        "words": table.words,
        "parts": list(table.parts),
        "ranges": ranges(run.declared, table),
        "samples": sample_details(run, opening) if opening else [],
    }
    return head, _columns(table)


def recent_rollouts(run: Run, step: int | None) -> Rollouts:
    """The samples of a step; the last few steps that were read are kept until the run grows."""
    recent: dict[int | None, Rollouts] = run.remember("rollouts", dict)
    if step not in recent:
        while len(recent) >= MOST_STEPS:
            recent.pop(next(iter(recent)))
        recent[step] = rollouts(run, step)
    return recent[step]


def _columns(table: Rollouts) -> Packed:
    """Columns of numbers; those without any value are left out."""
    numbers = {"gini": table.gini, **table.numbers, **table.parts}
    return {
        "group": table.group,
        "fate": table.fate,
        **{name: values.astype(np.float32) for name, values in numbers.items() if not np.isnan(values).all()},
        "reward": table.rewards,
        **{f"{name} code": _small(codes, len(table.words[name])) for name, codes in table.codes.items()},
    }


def _small(codes: NDArray[np.uint32], words: int) -> NDArray[Any]:
    return codes.astype(np.uint8) if words <= 256 else codes
