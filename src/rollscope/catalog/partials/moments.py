"""Mean and spread of one variable, all read from the state (count, mean, M2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .partial import NAN, Partial, State, kind


def merged(a: State, b: State) -> State:
    """Merge two (count, mean, M2) triples.

    This is the update of Chan, Golub and LeVeque: it is stable where Σx² - (Σx)²/n is not.
    """
    if not a[0] or not b[0]:
        return a if a[0] else b
    n = a[0] + b[0]
    delta = b[1] - a[1]
    if not math.isfinite(delta):
        return (n, (a[0] * a[1] + b[0] * b[1]) / n, NAN)
    return (n, a[1] + delta * (b[0] / n), a[2] + b[2] + delta * delta * (a[0] * b[0] / n))


@kind("moments")
@dataclass(frozen=True, slots=True)
class Moments(Partial):
    """Count, mean and summed squared deviation. The value is the mean; subclasses read others."""

    count: float = 0.0
    mean: float = 0.0
    m2: float = 0.0

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x, np.float64).ravel()
        if not x.size:
            return cls()
        with np.errstate(invalid="ignore"):  # infinities of both signs have no mean
            mean = float(x.mean())
        m2 = float(np.square(x - mean).sum()) if math.isfinite(mean) else NAN
        return cls(float(x.size), mean, m2)

    def __add__(self, other: Moments) -> Self:
        return type(self)(*merged(self.state(), other.state()))

    def std(self, ddof: int = 1) -> float:
        return math.sqrt(self.m2 / (self.count - ddof)) if self.count > ddof else NAN

    @property
    def value(self) -> float:
        return self.mean if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def broken(self) -> Self:
        return type(self)(self.count, NAN, NAN) if self.count else self

    def state(self) -> State:
        return (self.count, self.mean, self.m2)


@kind("std")
@dataclass(frozen=True, slots=True)
class Std(Moments):
    """Standard deviation with ddof = 1. One value has no spread, so it is NaN, not 0."""

    @property
    def value(self) -> float:
        return self.std(1)


@kind("std0")
@dataclass(frozen=True, slots=True)
class PopulationStd(Moments):
    """Standard deviation with ddof = 0, for quantities whose definition says so."""

    @property
    def value(self) -> float:
        return self.std(0)


@kind("variance")
@dataclass(frozen=True, slots=True)
class Variance(Moments):
    """Variance with ddof = 1."""

    @property
    def value(self) -> float:
        return self.m2 / (self.count - 1) if self.count > 1 else NAN
