"""Statistics of many stretches of values at once: moments, quantiles, and spread inside groups.

A stretch is a sequence of equal keys, such as the samples of a step. Values are sorted once, and
every statistic of every stretch is read from the sorted order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rows import Floats, Ints, stretch_starts

SAME = 1e-6  # two values that differ by less than this share of the range are equal
NAMES = ("n", "mean", "std", "min", "max", "p05", "p50", "p95")


def of_stretches(key: Ints, x: Floats) -> tuple[Ints, dict[str, Floats]]:
    """Keys and their statistics. `x` is sorted by (key, value) and has no NaN.

    std has ddof 1; quantiles are linear between neighbours.
    """
    starts = stretch_starts(key)
    n = np.diff([*starts, len(key)]).astype(np.float64)
    if not len(starts):
        return key[starts], {name: np.empty(0) for name in NAMES}
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.add.reduceat(x, starts) / n
        away = x - np.repeat(mean, n.astype(np.int64))
        m2 = np.add.reduceat(away * away, starts)
        std = np.sqrt(np.divide(m2, n - 1, out=np.full(len(n), np.nan), where=n > 1))
        levels = {name: _quantile(x, starts, n, q) for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95))}
    ends = starts + n.astype(np.int64) - 1
    return key[starts], {"n": n, "mean": mean, "std": std, "min": x[starts], "max": x[ends], **levels}


def _quantile(x: Floats, starts: Ints, n: Floats, q: float) -> Floats:
    at = (n - 1) * q
    below = np.floor(at).astype(np.int64)
    part = at - below
    low, high = x[starts + below], x[starts + np.minimum(below + 1, n.astype(np.int64) - 1)]
    quantile: Floats = np.where(low == high, low, low + part * (high - low))
    return quantile


@dataclass(slots=True)
class Inside:
    """Per step: the mean Gini over groups, how many it counts, and shares of groups by outcome."""

    step: Ints
    gini: Floats
    counted: Floats
    skipped: Floats
    groups: Floats  # of two and more samples
    zero_spread: Floats
    all_pass: Floats  # NaN if no range is declared
    all_fail: Floats


def inside_groups(step: Ints, group: Ints, x: Floats, low: Floats, high: Floats) -> Inside:
    """`x` is sorted by (step, group, value); `low` and `high` are its declared range or NaN."""
    starts = stretch_starts(step, group)
    size = np.diff([*starts, len(x)])
    n, first, last = size.astype(np.float64), x[starts], x[starts + size - 1]
    lo, hi = (end.reduceat(bound, starts) if len(starts) else bound for end, bound in ((np.fmin, low), (np.fmax, high)))
    many = n >= 2
    gini = np.where(many, _gini(x, starts, size, lo), np.nan)
    at = stretch_starts(step[starts])
    observed = np.repeat(_range(first, last, at), np.diff([*at, len(starts)]))
    same = SAME * np.where(hi - lo > 0, hi - lo, observed)
    counted = np.isfinite(gini)
    zero = many & (last - first <= same)
    passed, failed = many & (first >= hi - same), many & (last <= lo + same)
    total = _sum(many, at)
    return Inside(
        step[starts][at],
        _share(_sum(np.where(counted, gini, 0.0), at), _sum(counted, at)),
        _sum(counted, at),
        _sum(~counted, at),
        total,
        _share(_sum(zero, at), total),
        np.where(_sum(~np.isnan(hi), at) > 0, _share(_sum(passed, at), total), np.nan),
        np.where(_sum(~np.isnan(lo), at) > 0, _share(_sum(failed, at), total), np.nan),
    )


def _gini(x: Floats, starts: Ints, size: Ints, low: Floats) -> Floats:
    """Σ (2 i - n - 1) x_i / (n Σ x), x ascending from its declared minimum; NaN if any x < 0."""
    shift = np.where(np.isnan(low), 0.0, low)
    most = np.maximum(np.abs(shift), x[starts + size - 1] - x[starts])
    x = x - np.repeat(shift, size)
    x = np.where((x < 0) & (x >= -SAME * np.repeat(most, size)), 0.0, x)  # a bound that went through float32
    rank = np.arange(len(x)) - np.repeat(starts, size) + 1
    n = size.astype(np.float64)
    weighted, total = _sum((2 * rank - np.repeat(n, size) - 1) * x, starts), _sum(x, starts)
    equal = x[starts] == x[starts + size - 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(x[starts] < 0, np.nan, np.where(equal, 0.0, weighted / (n * total)))


def _range(first: Floats, last: Floats, at: Ints) -> Floats:
    return np.maximum.reduceat(last, at) - np.minimum.reduceat(first, at) if len(at) else first[:0]


def _sum(x: NDArray[np.bool_] | Floats, at: Ints) -> Floats:
    return np.add.reduceat(np.asarray(x, np.float64), at) if len(at) else np.empty(0)


def _share(part: Floats, whole: Floats) -> Floats:
    out: Floats = np.full(len(part), np.nan)
    return np.divide(part, whole, out=out, where=whole > 0)
