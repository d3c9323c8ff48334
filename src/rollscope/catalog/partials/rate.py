"""Partials of speed: work adds up over parts, time does not.

Micro-batches and ranks of one step share its seconds. A rate holds the sum of the work and the
longest time that any part reported. Merging a step over ranks gives the rate of the step, not a
mean of rates. `Loads` holds the work of each data-parallel rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from .partial import NAN, Partial, State, kind


def _longer(a: float, b: float) -> float:
    return a if math.isnan(a) or a >= b else b  # NaN stays NaN in any order


def _or_nan(end: Callable[[Iterable[float]], float], loads: Sequence[float]) -> float:
    """The lowest or highest load; NaN without loads, or if one is NaN."""
    return NAN if not loads or any(map(math.isnan, loads)) else end(loads)


@kind("rate")
@dataclass(frozen=True, slots=True)
class Rate(Partial):
    """Work per time: Σ work / longest time."""

    work: float = 0.0
    time: float = 0.0

    def __add__(self, other: Rate) -> Self:
        return type(self)(self.work + other.work, _longer(self.time, other.time))

    @property
    def value(self) -> float:
        return self.work / self.time if self.work and self.time else NAN

    @property
    def weight(self) -> float:
        return self.work

    def state(self) -> State:
        return (self.work, self.time)


@kind("cost")
@dataclass(frozen=True, slots=True)
class Cost(Rate):
    """Time per work: longest time / Σ work."""

    @property
    def value(self) -> float:
        return self.time / self.work if self.work else NAN


REASONS = (
    "",
    "the GPU's name is not in the table of peaks",
    "the model's configuration lacks a field that counting its FLOPs needs",
    "the stage has no seconds in this batch",
)


@kind("utilisation")
@dataclass(frozen=True, slots=True)
class Utilisation(Partial):
    """Σ FLOPs done / (longest time x peak of the GPUs), or NaN with a `reason`."""

    flops: float = 0.0
    possible: float = 0.0
    why: float = 0.0  # index in REASONS, because a state holds only numbers

    def __add__(self, other: Utilisation) -> Utilisation:
        return Utilisation(self.flops + other.flops, _longer(self.possible, other.possible), max(self.why, other.why))

    @property
    def reason(self) -> str:
        return REASONS[int(self.why)]

    @property
    def value(self) -> float:
        return self.flops / self.possible if self.flops and self.possible and not self.why else NAN

    @property
    def weight(self) -> float:
        return 0.0 if self.why else self.flops

    def state(self) -> State:
        return (self.flops, self.possible, self.why)


@kind("loads")
@dataclass(frozen=True, slots=True)
class Loads(Partial):
    """Tokens of each data-parallel rank. The value is the mean; subclasses read others."""

    loads: tuple[float, ...] = ()

    def __add__(self, other: Loads) -> Self:
        """Add rank by rank: a rank does the work of both micro-batches."""
        n = max(len(self.loads), len(other.loads))
        mine, theirs = ((*x.loads, *[0.0] * (n - len(x.loads))) for x in (self, other))
        return type(self)(tuple(a + b for a, b in zip(mine, theirs, strict=True)))

    @property
    def value(self) -> float:
        return sum(self.loads) / len(self.loads) if self.loads else NAN

    @property
    def weight(self) -> float:
        return float(len(self.loads))

    def state(self) -> State:
        return self.loads

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        return cls(tuple(state))


@kind("lightest")
@dataclass(frozen=True, slots=True)
class Lightest(Loads):
    """Tokens of the rank with the fewest."""

    @property
    def value(self) -> float:
        return _or_nan(min, self.loads)


@kind("heaviest")
@dataclass(frozen=True, slots=True)
class Heaviest(Loads):
    """Tokens of the rank with the most."""

    @property
    def value(self) -> float:
        return _or_nan(max, self.loads)


@kind("gap")
@dataclass(frozen=True, slots=True)
class Gap(Loads):
    """Heaviest minus lightest."""

    @property
    def value(self) -> float:
        return _or_nan(max, self.loads) - _or_nan(min, self.loads)


@kind("imbalance")
@dataclass(frozen=True, slots=True)
class Imbalance(Loads):
    """Heaviest over mean, minus one: the average rank's wait as a share of its own work."""

    @property
    def value(self) -> float:
        mean = sum(self.loads) / len(self.loads) if self.loads else 0.0
        return _or_nan(max, self.loads) / mean - 1.0 if mean else NAN


@kind("evenness")
@dataclass(frozen=True, slots=True)
class Evenness(Loads):
    """Lightest over heaviest."""

    @property
    def value(self) -> float:
        heaviest = _or_nan(max, self.loads)
        return _or_nan(min, self.loads) / heaviest if heaviest else NAN
