"""The statistics that `PerGroup` can take over the values of each group.

A statistic reads a `GroupTable`: one row per group. `reduce_groups` says which numbers of a group
a statistic needs: its two ends, its mean and M2, all its values, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .partial import NAN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SAME = 1e-6  # share of the range below which two values count as equal

ENDS = {  # statistics that need the lowest and the highest value
    *("min", "max", "spread", "zero_spread"),
    *("all_pass", "all_fail", "mixed", "any_pass"),
}
MOMENTS = {"mean", "std", "std0", "cv", "zero_spread_expected"}  # statistics that need mean and M2


def stored_counts(inner: str, size: Floats) -> Ints:
    """How many numbers each group stores for a statistic."""
    if inner == "size":
        return np.zeros(len(size), np.int64)
    return np.where(size > 0, 2, 0) if inner in ENDS | MOMENTS else size.astype(np.int64)


def reduce_groups(inner: str, values: Floats, counts: Ints) -> Floats:
    """Reduce values, sorted by group and then ascending, to the numbers a statistic needs."""
    if inner == "size" or not len(values):
        return np.empty(0, np.float64)
    if inner not in ENDS | MOMENTS:
        return values
    filled = counts > 0
    first, last = _starts(counts)[filled], (np.cumsum(counts) - 1)[filled]
    if inner in ENDS:
        return np.stack([values[first], values[last]], 1).ravel()
    with np.errstate(all="ignore"):
        flat = values[first] == values[last]  # equal values have no spread, whatever rounding says
        mean = np.where(flat, values[first], np.add.reduceat(values, first) / counts[filled])
        squares = np.add.reduceat(np.square(values - np.repeat(mean, counts[filled])), first)
    return np.stack([mean, np.where(flat, 0.0, squares)], 1).ravel()


def _starts(counts: Ints) -> Ints:
    return np.cumsum(counts) - counts


class GroupTable:
    """The groups that hold values, one row per group.

    `n` is their size and `low`, `high` their declared range. Their stored numbers are in `least`
    and `most`, in `mean` and `m2`, or flat in `x`, depending on the statistic.
    """

    def __init__(self, inner: str, size: Floats, low: Floats, high: Floats, numbers: Floats) -> None:
        filled = size > 0
        self.low, self.high, self.n = low[filled], high[filled], size[filled]
        self.x, self.counts = numbers, stored_counts(inner, size)[filled]
        self.first = _starts(self.counts)
        if inner in ENDS | MOMENTS:
            pairs = numbers.reshape(-1, 2).T
            self.least, self.most = self.mean, self.m2 = pairs[0], pairs[1]
        elif inner != "size":
            self.least, self.most = self.x[self.first], self.x[self.first + self.counts - 1]

    def sum(self, x: Floats) -> Floats:
        return np.asarray(np.add.reduceat(x, self.first), np.float64)

    def repeat(self, per_group: Floats) -> Floats:
        """Repeat one number per group over the values of that group."""
        return np.repeat(per_group, self.counts)

    def same(self) -> Floats:
        """The largest difference that counts as equal: `SAME` of the declared range.

        Without a declared range, `SAME` of the observed range of all groups.
        """
        declared = self.high - self.low
        return SAME * np.where(declared > 0, declared, float(self.most.max() - self.least.min()))

    def at_least_two(self, statistic: Any) -> Floats:
        """The statistic for groups of two or more values, NaN for smaller ones."""
        return np.where(self.n >= 2, np.asarray(statistic, np.float64), NAN)


def _std(t: GroupTable) -> Floats:
    return t.at_least_two(np.sqrt(t.m2 / (t.n - 1)))


def _zero_spread(t: GroupTable) -> Floats:
    return t.at_least_two(t.most - t.least <= t.same())


def _all_pass(t: GroupTable) -> Floats:
    return np.where(np.isnan(t.high), NAN, t.at_least_two(t.least >= t.high - t.same()))


def _all_fail(t: GroupTable) -> Floats:
    return np.where(np.isnan(t.low), NAN, t.at_least_two(t.most <= t.low + t.same()))


def _gini(t: GroupTable) -> Floats:
    """Σ over pairs |x_i - x_j| / (2 n² mean).

    Computed as Σ (2 i - n - 1) x_i / (n Σ x) with x ascending and i from 1.
    """
    shift = np.where(np.isnan(t.low), 0.0, t.low)
    x = t.x - t.repeat(shift)
    rounding = SAME * t.repeat(np.maximum(np.abs(shift), t.most - t.least))
    x = np.where((x < 0) & (x >= -rounding), 0.0, x)  # a float32 of a bound may lie just below it
    rank = np.arange(len(x)) - t.repeat(t.first.astype(np.float64)) + 1
    gini = t.sum((2 * rank - t.repeat(t.n) - 1) * x) / (t.n * t.sum(x))
    gini = np.where(t.least == t.most, 0.0, gini)
    return t.at_least_two(np.where(x[t.first] < 0, NAN, gini))


def _max_median(t: GroupTable) -> Floats:
    middle = (t.x[t.first + (t.counts - 1) // 2] + t.x[t.first + t.counts // 2]) / 2
    return np.where(t.most == t.least, 1.0, np.where(middle == 0, NAN, t.most / middle))


def _zero_spread_expected(t: GroupTable) -> Floats:
    """p^n + (1 - p)^n, where p is the prompt's pass rate so far and n the size of the group."""
    p = np.clip(t.mean, 0.0, 1.0)
    return t.at_least_two(p**t.n + (1 - p) ** t.n)


REDUCTIONS: dict[str, Callable[[Floats], Any]] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "count": len,
    "std": lambda x: np.std(x, ddof=1),
}
STATISTICS: dict[str, Callable[[GroupTable], Floats]] = {
    "size": lambda t: t.n,
    "mean": lambda t: t.mean,
    "std": _std,
    "std0": lambda t: np.sqrt(t.m2 / t.n),
    "min": lambda t: t.least,
    "max": lambda t: t.most,
    "spread": lambda t: t.most - t.least,
    "zero_spread": _zero_spread,
    "all_pass": _all_pass,
    "all_fail": _all_fail,
    "mixed": lambda t: 1 - _zero_spread(t),
    "gini": _gini,
    "cv": lambda t: np.where(t.mean == 0, NAN, _std(t) / t.mean),
    "max_median": _max_median,
    "zero_spread_expected": _zero_spread_expected,
    "any_pass": lambda t: np.where(np.isnan(t.high), NAN, t.most >= t.high - t.same()),
}
