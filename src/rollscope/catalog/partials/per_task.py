"""Partials over the tasks of an evaluation that need to tell tasks apart in order to merge.

`Interval` holds one value per task, because it resamples tasks. Its key is a 53-bit hash of the
task's id: an integer that a double holds exactly. `Missing` holds how many tasks had how many
repeats, because the number missing depends on the fullest task over all parts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from .partial import NAN, Partial, State, kind

DRAWS = 1000
SEED = 42


def key_of(task: object) -> float:
    """Hash a task's id to an integer that a float64 holds exactly."""
    return float(int.from_bytes(hashlib.blake2b(str(task).encode(), digest_size=8).digest(), "big") >> 11)


@dataclass(frozen=True, slots=True)
class Interval(Partial):
    """One end of the 95 % interval of a mean over tasks.

    The interval is a percentile bootstrap over tasks with 1,000 draws and seed 42. `tasks` holds
    (key, total, weight) triples in order of their keys. A task on two ranks merges to one task with
    the pooled mean.
    """

    tasks: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def of(cls, values: Mapping[object, tuple[float, float]]) -> Self:
        """Make it from task -> (mean, number of repeats)."""
        return cls(tuple(sorted((key_of(task), mean * weight, weight) for task, (mean, weight) in values.items())))

    def __add__(self, other: Interval) -> Self:
        merged = {key: (total, weight) for key, total, weight in self.tasks}
        for key, total, weight in other.tasks:
            before = merged.get(key, (0.0, 0.0))
            merged[key] = (before[0] + total, before[1] + weight)
        return type(self)(tuple(sorted((key, *pair) for key, pair in merged.items())))

    @property
    def weight(self) -> float:
        return float(len(self.tasks))

    def state(self) -> State:
        return tuple(number for task in self.tasks for number in task)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        return cls(tuple((state[i], state[i + 1], state[i + 2]) for i in range(0, len(state), 3)))

    def _end(self, percent: float) -> float:
        means = tuple(total / weight for _, total, weight in self.tasks)
        if len(means) < 2 or not all(map(math.isfinite, means)):
            return NAN
        return float(np.percentile(_resampled(means), percent))


@lru_cache(maxsize=8)
def _resampled(means: tuple[float, ...]) -> np.ndarray:
    """The mean of each draw of as many tasks, with replacement.

    One draw at a time, so that ten thousand tasks do not need a gigabyte.
    """
    values, random = np.array(means), np.random.RandomState(SEED)
    return np.array([values[random.randint(0, len(values), len(values))].mean() for _ in range(DRAWS)])


@kind("interval_low")
@dataclass(frozen=True, slots=True)
class IntervalLow(Interval):
    """The lower end of the interval."""

    @property
    def value(self) -> float:
        return self._end(2.5)


@kind("interval_high")
@dataclass(frozen=True, slots=True)
class IntervalHigh(Interval):
    """The upper end of the interval."""

    @property
    def value(self) -> float:
        return self._end(97.5)


@kind("missing")
@dataclass(frozen=True, slots=True)
class Missing(Partial):
    """Missing repeats: what the tasks lack of the planned number, or of the fullest task's number.

    `counts` holds (repeats present, repeats planned or 0, tasks) triples.
    """

    counts: tuple[tuple[float, float, float], ...] = ()

    def __add__(self, other: Missing) -> Missing:
        merged: dict[tuple[float, float], float] = {}
        for present, planned, tasks in (*self.counts, *other.counts):
            merged[present, planned] = merged.get((present, planned), 0.0) + tasks
        return Missing(tuple(sorted((*key, tasks) for key, tasks in merged.items())))

    @property
    def value(self) -> float:
        if not self.counts:
            return NAN
        fullest = max(present for present, _, _ in self.counts)
        return sum(tasks * max((planned or fullest) - present, 0.0) for present, planned, tasks in self.counts)

    @property
    def weight(self) -> float:
        return sum(tasks for _, _, tasks in self.counts)

    def state(self) -> State:
        return tuple(number for triple in self.counts for number in triple)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Missing:
        return cls(tuple((state[i], state[i + 1], state[i + 2]) for i in range(0, len(state), 3)))
