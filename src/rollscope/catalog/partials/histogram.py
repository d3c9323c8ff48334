"""Quantiles that do not depend on order or split: exact for up to `EXACT` values, then counts in fixed buckets.

There is one bucket for each float32 with a five-bit mantissa. A value goes to the nearest such float, so small integers, halves and quarters are
kept exactly and anything else is off by at most 1.6 % (`ERROR`). Lowest and highest are kept exactly. Which of the two forms a histogram has
depends only on how many values there are, so parts merge to the whole; a sketch that adapts to its data would answer differently for another split.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .partial import NAN, Partial, State, kind

SHIFT = 18  # bits dropped of a float32: 5 of 23 mantissa bits stay
BUCKETS = 1 << (32 - SHIFT)
ERROR = 2.0**-6
EXACT = 512  # values that are kept as they are
_HALF = np.uint32(1 << (SHIFT - 1))


def bucket_counts(x: Any) -> Any:
    """How many values fall into each of the `BUCKETS`; dense, on the device of x."""
    if isinstance(x, np.ndarray):
        with np.errstate(over="ignore"):
            bits = x.astype(np.float32, copy=False).view(np.uint32) + _HALF
        return np.bincount(bits >> SHIFT, minlength=BUCKETS)
    torch = sys.modules["torch"]
    bits = (x.float().view(torch.int32).to(torch.int64) & 0xFFFFFFFF) + int(_HALF)
    where = (bits >> SHIFT) & (BUCKETS - 1)
    return torch.zeros(BUCKETS, dtype=torch.float64, device=x.device).index_add_(
        0, where, torch.ones_like(where, dtype=torch.float64)
    )


def centres(buckets: Sequence[int]) -> np.ndarray[Any, Any]:
    """The value each bucket stands for."""
    return (np.asarray(buckets, np.uint32) << np.uint32(SHIFT)).view(np.float32).astype(np.float64)


@kind("histogram")
@dataclass(frozen=True, slots=True)
class Histogram(Partial):
    """All values, ascending, while they are few; else sparse counts by bucket. Read as its median; `P05` and `P95` read the same at another point."""

    low: float = math.inf
    high: float = -math.inf
    buckets: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    point: ClassVar[float] = 0.5

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x, np.float64).ravel() + 0.0  # so that -0.0 and 0.0 are one number
        if x.size <= EXACT:
            return cls.of_values(x)
        return cls.of_counts(float(x.min()), float(x.max()), bucket_counts(x))

    @classmethod
    def of_values(cls, x: np.ndarray[Any, Any]) -> Self:
        return cls(float(x.min()), float(x.max()), (), (), tuple(np.sort(x).tolist())) if x.size else cls()

    @classmethod
    def of_counts(cls, low: float, high: float, counts: np.ndarray[Any, Any]) -> Self:
        used = np.flatnonzero(counts)
        return cls(low, high, tuple(used.tolist()), tuple(int(c) for c in counts[used]))

    def __add__(self, other: Histogram) -> Self:
        if not self.counts and not other.counts and len(self.values) + len(other.values) <= EXACT:
            return type(self).of_values(np.array((*self.values, *other.values), np.float64))
        both = self._sparse()
        for bucket, n in other._sparse().items():
            both[bucket] = both.get(bucket, 0) + n
        low = math.nan if math.isnan(self.low) or math.isnan(other.low) else min(self.low, other.low)
        high = math.nan if math.isnan(self.high) or math.isnan(other.high) else max(self.high, other.high)
        order = sorted(both)
        return type(self)(low, high, tuple(order), tuple(both[b] for b in order))

    def _sparse(self) -> dict[int, int]:
        """Counts by bucket, whichever form this has."""
        if not self.values:
            return dict(zip(self.buckets, self.counts, strict=True))
        counts = bucket_counts(np.array(self.values))
        used = np.flatnonzero(counts)
        return dict(zip(used.tolist(), counts[used].tolist(), strict=True))

    def quantile(self, q: float) -> float:
        """The q-quantile by numpy's linear rule, on the values or the buckets' centres; never outside what was seen."""
        if not self.weight or math.isnan(self.low) or math.isnan(self.high):
            return NAN
        values, n = (
            (np.array(self.values), np.ones(len(self.values), np.int64))
            if self.values
            else (centres(self.buckets), np.asarray(self.counts))
        )
        order = np.argsort(values, kind="stable")
        values, upto = values[order], np.cumsum(n[order])
        last = int(upto[-1]) - 1

        def ranked(rank: int) -> float:
            middle = float(values[int(np.searchsorted(upto, rank, side="right"))])
            return self.low if rank == 0 else self.high if rank == last else min(max(middle, self.low), self.high)

        place = last * q
        below, above = ranked(math.floor(place)), ranked(math.ceil(place))
        return below if below == above else below + (above - below) * (place - math.floor(place))

    @property
    def value(self) -> float:
        return self.quantile(self.point)

    @property
    def weight(self) -> float:
        return float(sum(self.counts) + len(self.values))

    def state(self) -> State:
        """Buckets and counts make an even number of floats. Values make an odd one, after a head that says how they stand: each, or each different one and how often."""
        if not self.values:
            return (self.low, self.high, *map(float, self.buckets), *map(float, self.counts))
        different, often = np.unique(np.array(self.values), return_counts=True)
        if 2 * len(different) < len(self.values):
            return (2.0, *different.tolist(), *often.astype(np.float64).tolist())
        return (1.0, *self.values) if len(self.values) % 2 == 0 else (0.0, 0.0, *self.values)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        if len(state) % 2:
            rest = np.asarray(state[1 if state[0] else 2 :], np.float64)
            half = len(rest) // 2
            return cls.of_values(np.repeat(rest[:half], rest[half:].astype(np.int64)) if state[0] == 2 else rest)
        half = (len(state) - 2) // 2
        return cls(
            float(state[0]),
            float(state[1]),
            tuple(int(b) for b in state[2 : 2 + half]),
            tuple(int(c) for c in state[2 + half :]),
        )


@kind("p05")
@dataclass(frozen=True, slots=True)
class P05(Histogram):
    """The value one in twenty lies below."""

    point: ClassVar[float] = 0.05


@kind("p50")
@dataclass(frozen=True, slots=True)
class P50(Histogram):
    """The median."""


@kind("p95")
@dataclass(frozen=True, slots=True)
class P95(Histogram):
    """The value one in twenty lies above."""

    point: ClassVar[float] = 0.95
