"""A reading taken where something else is largest, such as the length of the slowest sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .partial import NAN, Partial, State, kind


@kind("at_max")
@dataclass(frozen=True, slots=True)
class AtMax(Partial):
    """The `reading` that belongs to the largest `size` among `count` things.

    Equal sizes keep the larger reading, so the order does not matter.
    """

    size: float = -math.inf
    reading: float = NAN
    count: float = 0.0

    @classmethod
    def of(cls, size: Any, reading: Any) -> AtMax:
        size, reading = np.asarray(size, np.float64), np.asarray(reading, np.float64)
        known = ~(np.isnan(size) | np.isnan(reading))
        if not known.any():
            return cls()
        largest = max(zip(size[known].tolist(), reading[known].tolist(), strict=True))
        return cls(*largest, float(np.count_nonzero(known)))

    def __add__(self, other: AtMax) -> AtMax:
        if not self.count or not other.count:
            return self if self.count else other
        size, reading = max((self.size, self.reading), (other.size, other.reading))
        return AtMax(size, reading, self.count + other.count)

    @property
    def value(self) -> float:
        return self.reading if self.count else NAN

    @property
    def weight(self) -> float:
        return self.count

    def state(self) -> State:
        return (self.size, self.reading, self.count)
