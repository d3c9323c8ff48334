"""Quantiles that do not depend on order or split: exact up to `EXACT` values, then bucket counts.

There is one bucket for each float32 with a five-bit mantissa, and a value goes to the nearest one.
Small integers, halves and quarters stay exact; other values are off by at most 1.6 % (`ERROR`).
The lowest and the highest value stay exact. The number of values alone decides between exact and
bucketed, so parts merge to the whole. A sketch that adapts to its data would depend on the split.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .partial import NAN, Partial, State, kind

SHIFT = 18  # bits dropped from a float32, which leaves 5 of 23 mantissa bits
BUCKETS = 1 << (32 - SHIFT)
ERROR = 2.0**-6
EXACT = 512  # most values that are stored one by one
_HALF = np.uint32(1 << (SHIFT - 1))


def bucket_counts(x: Any) -> Any:
    """Count the values in each of the `BUCKETS`, as a dense array on the device of x."""
    if isinstance(x, np.ndarray):
        with np.errstate(over="ignore"):
            bits = x.astype(np.float32, copy=False).view(np.uint32) + _HALF
        return np.bincount(bits >> SHIFT, minlength=BUCKETS)
    torch = sys.modules["torch"]
    bits = (x.float().view(torch.int32).to(torch.int64) & 0xFFFFFFFF) + int(_HALF)
    bucket = (bits >> SHIFT) & (BUCKETS - 1)
    counts = torch.zeros(BUCKETS, dtype=torch.float64, device=x.device)
    return counts.index_add_(0, bucket, torch.ones_like(bucket, dtype=torch.float64))


def centres(buckets: Sequence[int]) -> np.ndarray[Any, Any]:
    """The value each bucket stands for."""
    return (np.asarray(buckets, np.uint32) << np.uint32(SHIFT)).view(np.float32).astype(np.float64)


@kind("histogram")
@dataclass(frozen=True, slots=True)
class Histogram(Partial):
    """Few values in ascending order, or sparse counts by bucket. The value is the median.

    `P05` and `P95` read the same state at another point.
    """

    low: float = math.inf
    high: float = -math.inf
    buckets: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    point: ClassVar[float] = 0.5

    @classmethod
    def of(cls, x: Any) -> Self:
        x = np.asarray(x, np.float64).ravel() + 0.0  # makes -0.0 and 0.0 one number
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
        low = NAN if math.isnan(self.low) or math.isnan(other.low) else min(self.low, other.low)
        high = NAN if math.isnan(self.high) or math.isnan(other.high) else max(self.high, other.high)
        order = sorted(both)
        return type(self)(low, high, tuple(order), tuple(both[b] for b in order))

    def _sparse(self) -> dict[int, int]:
        """Counts by bucket, of either form."""
        if not self.values:
            return dict(zip(self.buckets, self.counts, strict=True))
        counts = bucket_counts(np.array(self.values))
        used = np.flatnonzero(counts)
        return dict(zip(used.tolist(), counts[used].tolist(), strict=True))

    def quantile(self, q: float) -> float:
        """The q-quantile by numpy's linear rule, on the values or the centres of the buckets.

        The result lies between the lowest and the highest value.
        """
        if not self.weight or math.isnan(self.low) or math.isnan(self.high):
            return NAN
        values, cumulative = self._cumulative()
        last = int(cumulative[-1]) - 1

        def ranked(rank: int) -> float:
            middle = float(values[int(np.searchsorted(cumulative, rank, side="right"))])
            return self.low if rank == 0 else self.high if rank == last else min(max(middle, self.low), self.high)

        rank = last * q
        below, above = ranked(math.floor(rank)), ranked(math.ceil(rank))
        return below if below == above else below + (above - below) * (rank - math.floor(rank))

    def _cumulative(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Values or centres in ascending order, and how many values lie up to each of them."""
        if self.values:
            return np.array(self.values), np.arange(1, len(self.values) + 1)
        values = centres(self.buckets)
        order = np.argsort(values, kind="stable")
        return values[order], np.cumsum(np.asarray(self.counts)[order])

    @property
    def value(self) -> float:
        return self.quantile(self.point)

    @property
    def weight(self) -> float:
        return float(sum(self.counts) + len(self.values))

    def broken(self) -> Self:
        if not self.weight:
            return self
        return replace(self, low=NAN, high=NAN, values=(NAN,) * len(self.values))

    def state(self) -> State:
        """An even number of floats holds buckets and counts, an odd number holds values.

        The first float of an odd number says how: 2 means each distinct value and its count, 1
        means all values, 0 means all values after a second 0 that makes the number odd.
        """
        if not self.values:
            return (self.low, self.high, *map(float, self.buckets), *map(float, self.counts))
        distinct, counts = np.unique(np.array(self.values), return_counts=True)
        if 2 * len(distinct) < len(self.values):
            return (2.0, *distinct.tolist(), *counts.astype(np.float64).tolist())
        return (1.0, *self.values) if len(self.values) % 2 == 0 else (0.0, 0.0, *self.values)

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        if len(state) % 2:
            numbers = np.asarray(state[1 if state[0] else 2 :], np.float64)
            half = len(numbers) // 2
            if state[0] == 2:
                numbers = np.repeat(numbers[:half], numbers[half:].astype(np.int64))
            return cls.of_values(numbers)
        half = (len(state) - 2) // 2
        buckets, counts = state[2 : 2 + half], state[2 + half :]
        return cls(float(state[0]), float(state[1]), tuple(map(int, buckets)), tuple(map(int, counts)))


@kind("p05")
@dataclass(frozen=True, slots=True)
class P05(Histogram):
    """The value that one in twenty lies below."""

    point: ClassVar[float] = 0.05


@kind("p50")
@dataclass(frozen=True, slots=True)
class P50(Histogram):
    """The median."""


@kind("p95")
@dataclass(frozen=True, slots=True)
class P95(Histogram):
    """The value that one in twenty lies above."""

    point: ClassVar[float] = 0.95
