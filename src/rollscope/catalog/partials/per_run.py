"""Means in three levels: the samples of a run, the runs of a task, the tasks.

A run is one repeat of a task. It may leave several samples, such as one for each model call of an
agent, and these may lie on several ranks. A `PerRun` therefore holds a sum and a count for each
run, and averages only when it is asked for its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .group_statistics import REDUCTIONS, Floats
from .partial import NAN, Partial, State, kind
from .per_group import OUTER, Groups, group_ids, id_text


def run_ids(group: Any, repeat: Any) -> Floats:
    """One id for each repeat of each group: two groups of a step may try the same prompt."""
    return group_ids([f"{id_text(g)}\n{id_text(r)}" for g, r in zip(group, repeat, strict=True)])


@kind("per_run")
@dataclass(frozen=True, slots=True, eq=False)
class PerRun(Partial):
    """The `outer` statistic over tasks of the mean over a task's runs of the mean over a run."""

    outer: str
    rows: Floats  # [runs, 4]: task, run, sum and count of its values; ascending in task and run

    @classmethod
    def of(cls, values: Any, tasks: Groups, runs: Floats, outer: str = "mean") -> PerRun:
        """Make it from values [B], their tasks, and the ids of their runs. A NaN is no value."""
        x = np.asarray(values, np.float64).ravel()
        known = ~np.isnan(x)
        columns = [tasks.ids[tasks.of], runs, np.where(known, x, 0.0), known]
        return cls(outer, _pooled(np.column_stack(columns).astype(np.float64)))

    def __add__(self, other: PerRun) -> PerRun:
        assert self.outer == other.outer, f"{self.outer} and {other.outer} are two statistics"
        return PerRun(self.outer, _pooled(np.concatenate([self.rows, other.rows])))

    def per_task(self) -> Floats:
        """The mean over the runs of each task that has a value."""
        task, _, total, count = self.rows[self.rows[:, 3] > 0].T
        _, of = np.unique(task, return_inverse=True)
        sums: Floats = np.bincount(of, total / count) / np.bincount(of)
        return sums

    @property
    def value(self) -> float:
        each = self.per_task()
        least = 2 if self.outer == "std" else 1
        return float(REDUCTIONS[self.outer](each)) if len(each) >= least else NAN

    @property
    def weight(self) -> float:
        return float(len(self.per_task()))

    def state(self) -> State:
        return (float(OUTER.index(self.outer)), *self.rows.ravel().tolist())

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        return cls(OUTER[int(state[0])], np.asarray(state[1:], np.float64).reshape(-1, 4))


def _pooled(rows: Floats) -> Floats:
    """One row for each run: sums and counts add."""
    if not len(rows):
        return np.empty((0, 4))
    runs, of = np.unique(rows[:, :2], axis=0, return_inverse=True)
    of = of.ravel()
    return np.column_stack([runs, np.bincount(of, rows[:, 2]), np.bincount(of, rows[:, 3])])
