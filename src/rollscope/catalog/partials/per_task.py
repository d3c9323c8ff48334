"""Partials over the tasks of an evaluation: what must know the tasks apart to be merged.

`Interval` keeps one value a task, keyed by a 53-bit hash of the task's id (a whole number that a double holds exactly), because resampling
tasks needs them. `Missing` keeps how many tasks had how many repeats, because what is missing depends on the largest number anybody saw.
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
    """A task's id as a number that survives a float64."""
    return float(int.from_bytes(hashlib.blake2b(str(task).encode(), digest_size=8).digest(), "big") >> 11)


@dataclass(frozen=True, slots=True)
class Interval(Partial):
    """An end of the 95 % interval of a mean over tasks: percentile bootstrap over tasks, 1,000 draws, seed 42.

    `tasks` are (key, total, weight) triples in the order of their keys; a task that lies on two ranks is one task with the pooled mean.
    """

    tasks: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def of(cls, values: Mapping[object, tuple[float, float]]) -> Self:
        """From task -> (mean, how many repeats it stands on)."""
        return cls(tuple(sorted((key_of(task), mean * weight, weight) for task, (mean, weight) in values.items())))

    def __add__(self, other: Interval) -> Self:
        merged = {key: (total, weight) for key, total, weight in self.tasks}
        for key, total, weight in other.tasks:
            had = merged.get(key, (0.0, 0.0))
            merged[key] = (had[0] + total, had[1] + weight)
        return type(self)(tuple(sorted((key, *rest) for key, rest in merged.items())))

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
        return (
            float(np.percentile(_resampled(means), percent))
            if len(means) > 1 and all(map(math.isfinite, means))
            else NAN
        )


@lru_cache(maxsize=8)
def _resampled(means: tuple[float, ...]) -> np.ndarray:
    """Means of as many tasks drawn with replacement, for every draw. Drawn a slice at a time: ten thousand tasks need no gigabyte."""
    values, random = np.array(means), np.random.RandomState(SEED)
    return np.array([values[random.randint(0, len(values), len(values))].mean() for _ in range(DRAWS)])


@kind("interval_low")
@dataclass(frozen=True, slots=True)
class IntervalLow(Interval):
    @property
    def value(self) -> float:
        return self._end(2.5)


@kind("interval_high")
@dataclass(frozen=True, slots=True)
class IntervalHigh(Interval):
    @property
    def value(self) -> float:
        return self._end(97.5)


@kind("missing")
@dataclass(frozen=True, slots=True)
class Missing(Partial):
    """Repeats that are not there: the tasks' shortfall against what was planned, or against the fullest task when no plan was told.

    `counts` are (repeats present, repeats planned or 0, tasks) triples.
    """

    counts: tuple[tuple[float, float, float], ...] = ()

    def __add__(self, other: Missing) -> Missing:
        merged: dict[tuple[float, float], float] = {}
        for present, planned, tasks in (*self.counts, *other.counts):
            merged[present, planned] = merged.get((present, planned), 0.0) + tasks
        return Missing(tuple(sorted((*key, tasks) for key, tasks in merged.items())))

    @property
    def value(self) -> float:
        fullest = max((present for present, _, _ in self.counts), default=0.0)
        return (
            sum(tasks * max((planned or fullest) - present, 0.0) for present, planned, tasks in self.counts)
            if self.counts
            else NAN
        )

    @property
    def weight(self) -> float:
        return sum(tasks for _, _, tasks in self.counts)

    def state(self) -> State:
        return tuple(number for triple in self.counts for number in triple)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Missing:
        return cls(tuple((state[i], state[i + 1], state[i + 2]) for i in range(0, len(state), 3)))
