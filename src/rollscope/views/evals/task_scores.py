"""One score of a set as a table of tasks by steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput

from .sets import EvalSet, Floats, Ints


@dataclass(frozen=True, slots=True)
class TaskScores:
    """What each task scored at each step, and on how many repeats that stands."""

    set: EvalSet
    score: str
    mean: Floats  # tasks x steps; NaN: no repeat with a score
    repeats: Ints  # tasks x steps: repeats with a score
    failed: Ints  # tasks x steps: repeats that failed

    @property
    def is_graded(self) -> bool:
        """Whether every score lies between 0 and 1, so that a task can be called solved."""
        known = self.mean[np.isfinite(self.mean)]
        return bool(((known >= 0) & (known <= 1)).all())

    def solved(self, at: int) -> NDArray[np.bool_]:
        """The tasks whose repeats scored more than a half at a step."""
        return np.nan_to_num(self.mean[:, at], nan=-1.0) > 0.5

    def tasks_failed(self) -> Ints:
        """How many tasks had no repeat with a score at each step, though they were tried."""
        failed: Ints = ((self.repeats == 0) & (self.failed > 0)).sum(axis=0)
        return failed


def task_scores(evals: EvalSet, score: str | None = None) -> TaskScores:
    """Average the rows of a repeat, then the repeats of a task. Made once for each score."""
    name = evals.main_score if score is None else score
    if name not in evals.values and evals.values:
        raise BadInput(f"set {evals.name!r} has no score {name!r}: it has {', '.join(evals.scores)}")
    if name not in evals.kept:
        evals.kept[name] = _table(evals, name)
    found: TaskScores = evals.kept[name]
    return found


def _table(evals: EvalSet, name: str) -> TaskScores:
    value = evals.values.get(name, np.full(len(evals.task), np.nan))
    shape = (len(evals.tasks), len(evals.steps))
    cell = evals.task * shape[1] + evals.at
    mean, repeats = _means(cell, evals.repeat, value, shape[0] * shape[1])
    failed = _repeats_that_failed(cell, evals.repeat, evals.failed, shape[0] * shape[1])
    return TaskScores(evals, name, mean.reshape(shape), repeats.reshape(shape), failed.reshape(shape))


def _means(cell: Ints, repeat: Ints, value: Floats, cells: int) -> tuple[Floats, Ints]:
    known = np.isfinite(value)
    of, which = _repeats(cell[known], repeat[known])
    per_repeat = np.bincount(which, value[known], len(of)) / np.bincount(which, minlength=len(of))
    count = np.bincount(of, minlength=cells)
    total = np.bincount(of, per_repeat, cells)
    return np.divide(total, count, out=np.full(cells, np.nan), where=count > 0), count.astype(np.int64)


def _repeats_that_failed(cell: Ints, repeat: Ints, failed: NDArray[np.bool_], cells: int) -> Ints:
    """Repeats of which every row failed."""
    of, which = _repeats(cell, repeat)
    fine = np.bincount(which, ~failed, len(of))
    return np.bincount(of[fine == 0], minlength=cells).astype(np.int64)


def _repeats(cell: Ints, repeat: Ints) -> tuple[Ints, Ints]:
    """The cell of every repeat, and which repeat each row is of."""
    unlike, number = np.unique(repeat, return_inverse=True)
    keys, which = np.unique(cell * max(1, len(unlike)) + number.reshape(-1), return_inverse=True)
    return keys // max(1, len(unlike)), which.reshape(-1)
