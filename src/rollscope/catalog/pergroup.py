"""Statistics of groups that may lie on several ranks: every group keeps its values until the step is closed.

A `PerGroup` holds, for each group (known by a 53-bit hash of its id), its values in ascending order and the range that was declared
for them. Two of them merge by pooling the values of each group; the form is canonical, so any order and any split gives the same
bits. Read, it takes the `inner` statistic of every group and reduces those with `outer`. Groups for which the statistic is not defined
are not counted; `weight` is how many were counted, `not_counted` how many were not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.partial import NAN, Partial, State, kind

Floats = NDArray[np.float64]
SAME = 1e-6  # of the range: values closer than this are equal

# The place in these tuples is what the store keeps: only ever append.
INNER = (
    "size",
    "mean",
    "std",
    "std0",
    "min",
    "max",
    "spread",
    "zero_spread",
    "all_pass",
    "all_fail",
    "mixed",
    "gini",
    "cv",
    "max_median",
    "zero_spread_expected",
    "any_pass",
)
OUTER = ("mean", "min", "max", "std", "sum", "not_counted", "count")
ENDS_ONLY = {"min", "max", "spread", "zero_spread", "all_pass", "all_fail", "mixed", "any_pass"}  # a group needs no more than its lowest and highest value


def group_ids(group: Any) -> Floats:
    """Each id as a whole number below 2**53, the same in every process: a float holds it exactly.

    >>> (group_ids(["a", "b", "a"]) == group_ids(np.array(["a", "b", "a"], object))).all()
    np.True_
    """
    names = [_text(g) for g in (group.tolist() if isinstance(group, np.ndarray) else group)]
    known = {name: float(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") >> 11) for name in set(names)}
    return np.array([known[name] for name in names], np.float64)


def _text(group: Any) -> str:
    return str(int(group)) if isinstance(group, float) and group.is_integer() else str(group)  # 3 on one rank may be 3.0 on another


@kind("per_group")
@dataclass(frozen=True, slots=True, eq=False)
class PerGroup(Partial):
    """`outer` over groups of `inner` over the values of a group."""

    inner: str
    outer: str = "mean"
    ids: Floats = field(default_factory=lambda: np.empty(0))  # [G] ascending
    low: Floats = field(default_factory=lambda: np.empty(0))  # [G] declared, NaN where nothing was
    high: Floats = field(default_factory=lambda: np.empty(0))
    size: Floats = field(default_factory=lambda: np.empty(0))  # [G] values that were there
    kept: Floats = field(default_factory=lambda: np.empty(0))  # [G] values still held, fewer where the ends are enough
    values: Floats = field(default_factory=lambda: np.empty(0))  # [sum of kept] ascending inside each group

    @classmethod
    def of(cls, inner: str, values: Any, group: Any, low: Any = NAN, high: Any = NAN, outer: str = "mean") -> PerGroup:
        """Values `[B]` with their group ids `[B]`, and the declared range, one for all or one per value. A NaN is a member without this value."""
        x = np.asarray(values, np.float64).ravel() + 0.0  # so that -0.0 and 0.0 are one number
        keys = group_ids(group)
        ids, where = np.unique(keys, return_inverse=True)
        lows, highs = (_ends(np.broadcast_to(np.asarray(r, np.float64), x.shape), where, len(ids), end) for r, end in ((low, np.fmin), (high, np.fmax)))
        there = ~np.isnan(x)
        size = np.bincount(where[there], minlength=len(ids)).astype(np.float64)
        order = np.lexsort((x[there], where[there]))
        return cls(inner, outer, ids, lows, highs, size, size, x[there][order])._thin()

    def __add__(self, other: PerGroup) -> PerGroup:
        assert (self.inner, self.outer) == (other.inner, other.outer), f"{self.inner}/{self.outer} and {other.inner}/{other.outer} are two statistics"
        ids, where = np.unique(np.r_[self.ids, other.ids], return_inverse=True)
        low = _ends(np.r_[self.low, other.low], where, len(ids), np.fmin)
        high = _ends(np.r_[self.high, other.high], where, len(ids), np.fmax)
        size, kept = (np.bincount(where, np.r_[a, b], len(ids)).astype(np.float64) for a, b in ((self.size, other.size), (self.kept, other.kept)))
        of_value = np.repeat(where, np.r_[self.kept, other.kept].astype(np.int64))
        values = np.r_[self.values, other.values]
        return PerGroup(self.inner, self.outer, ids, low, high, size, kept, values[np.lexsort((values, of_value))])._thin()

    def _thin(self) -> PerGroup:
        """Drop the values that the statistic will never read."""
        if self.inner == "size":
            return PerGroup(self.inner, self.outer, self.ids, self.low, self.high, self.size, np.zeros_like(self.size))
        if self.inner not in ENDS_ONLY:
            return self
        first = self._first()[self.kept > 0]
        last = (self._first() + self.kept.astype(np.int64) - 1)[self.kept > 0]
        kept = np.where(self.kept > 0, 2.0, 0.0)
        return PerGroup(self.inner, self.outer, self.ids, self.low, self.high, self.size, kept, self.values[np.stack([first, last], 1).ravel()])

    def _first(self) -> NDArray[np.int64]:
        return np.r_[0, np.cumsum(self.kept)[:-1]].astype(np.int64) if len(self.kept) else np.empty(0, np.int64)

    def per_group(self) -> Floats:
        """The inner statistic of every group, in the order of `ids`; NaN where it is not defined."""
        found = np.full(len(self.ids), NAN)
        some = self.size > 0
        if some.any():
            with np.errstate(all="ignore"):
                found[some] = STATISTICS[self.inner](_Table(self, some))
        return found

    @property
    def value(self) -> float:
        each = self.per_group()
        counted = each[~np.isnan(each)]
        if self.outer == "not_counted":
            return float(len(each) - len(counted)) if len(each) else NAN
        if len(counted) < (2 if self.outer == "std" else 1):
            return NAN
        return float(REDUCTIONS[self.outer](counted))

    @property
    def weight(self) -> float:
        return float(len(self.ids)) if self.outer == "not_counted" else float(np.count_nonzero(~np.isnan(self.per_group())))

    @property
    def not_counted(self) -> float:
        return float(np.count_nonzero(np.isnan(self.per_group())))

    def state(self) -> State:
        rows = np.stack([self.ids, self.low, self.high, self.size, self.kept], 1).ravel()
        return (float(INNER.index(self.inner)), float(OUTER.index(self.outer)), float(len(self.ids)), *rows.tolist(), *self.values.tolist())

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        groups = int(state[2])
        rows = np.asarray(state[3 : 3 + 5 * groups], np.float64).reshape(groups, 5).T
        return cls(INNER[int(state[0])], OUTER[int(state[1])], rows[0], rows[1], rows[2], rows[3], rows[4], np.asarray(state[3 + 5 * groups :], np.float64))


def _ends(declared: Floats, where: NDArray[np.int64], groups: int, end: np.ufunc) -> Floats:
    """One bound per group of bounds given per value; NaN is "not declared" and loses against any number."""
    found = np.full(groups, NAN)
    with np.errstate(invalid="ignore"):
        end.at(found, where, declared)
    return found


class _Table:
    """The groups that hold values, laid out for the statistics below: one row per group, the values flat and ascending."""

    def __init__(self, part: PerGroup, some: NDArray[np.bool_]) -> None:
        self.low, self.high, self.n = part.low[some], part.high[some], part.size[some]
        self.x, self.first, self.kept = part.values, part._first()[some], part.kept[some].astype(np.int64)
        last = self.first + self.kept - 1
        self.least: Floats = self.x[self.first] if len(self.x) else self.n
        self.most: Floats = self.x[last] if len(self.x) else self.n

    def sum(self, x: Floats) -> Floats:
        return np.asarray(np.add.reduceat(x, self.first), np.float64)

    def spread_out(self, per_group: Floats) -> Floats:
        return np.repeat(per_group, self.kept)

    def same(self) -> Floats:
        """The largest difference that is still none: a millionth of the declared range, else of what was observed."""
        observed = float(self.most.max() - self.least.min())
        declared = self.high - self.low
        return SAME * np.where(declared > 0, declared, observed)

    def at_least_two(self, found: Any) -> Floats:
        return np.where(self.n >= 2, np.asarray(found, np.float64), NAN)


def _mean(t: _Table) -> Floats:
    return t.sum(t.x) / t.n


def _squares(t: _Table) -> Floats:
    return np.where(t.least == t.most, 0.0, t.sum(np.square(t.x - t.spread_out(_mean(t)))))  # equal values have no spread, rounding or not


def _std(t: _Table) -> Floats:
    return t.at_least_two(np.sqrt(_squares(t) / (t.n - 1)))


def _zero_spread(t: _Table) -> Floats:
    return t.at_least_two(t.most - t.least <= t.same())


def _all_pass(t: _Table) -> Floats:
    return np.where(np.isnan(t.high), NAN, t.at_least_two(t.least >= t.high - t.same()))


def _all_fail(t: _Table) -> Floats:
    return np.where(np.isnan(t.low), NAN, t.at_least_two(t.most <= t.low + t.same()))


def _gini(t: _Table) -> Floats:
    """Σ over pairs |x_i - x_j| / (2 n² mean) = Σ (2 i - n - 1) x_i / (n Σ x) with x ascending and i from 1."""
    shift = np.where(np.isnan(t.low), 0.0, t.low)
    x = t.x - t.spread_out(shift)
    x = np.where((x < 0) & (x >= -SAME * t.spread_out(np.maximum(np.abs(shift), t.most - t.least))), 0.0, x)  # float32 of a bound may lie just below it
    rank = np.arange(len(x)) - t.spread_out(t.first.astype(np.float64)) + 1
    found = t.sum((2 * rank - t.spread_out(t.n) - 1) * x) / (t.n * t.sum(x))
    found = np.where(t.least == t.most, 0.0, found)
    return t.at_least_two(np.where(x[t.first] < 0, NAN, found))


def _cv(t: _Table) -> Floats:
    return np.where(_mean(t) == 0, NAN, _std(t) / _mean(t))


def _max_median(t: _Table) -> Floats:
    middle = (t.x[t.first + (t.kept - 1) // 2] + t.x[t.first + t.kept // 2]) / 2
    return np.where(t.most == t.least, 1.0, np.where(middle == 0, NAN, t.most / middle))


def _zero_spread_expected(t: _Table) -> Floats:
    """The values are the pass rate of the group's prompt so far, the size is how many attempts were made now."""
    p = np.clip(_mean(t), 0.0, 1.0)
    return t.at_least_two(p**t.n + (1 - p) ** t.n)


REDUCTIONS: dict[str, Callable[[Floats], Any]] = {
    "mean": np.mean,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
    "count": len,
    "std": lambda x: np.std(x, ddof=1),
}
STATISTICS: dict[str, Callable[[_Table], Floats]] = {
    "size": lambda t: t.n,
    "mean": _mean,
    "std": _std,
    "std0": lambda t: np.sqrt(_squares(t) / t.n),
    "min": lambda t: t.least,
    "max": lambda t: t.most,
    "spread": lambda t: t.most - t.least,
    "zero_spread": _zero_spread,
    "all_pass": _all_pass,
    "all_fail": _all_fail,
    "mixed": lambda t: 1 - _zero_spread(t),
    "gini": _gini,
    "cv": _cv,
    "max_median": _max_median,
    "zero_spread_expected": _zero_spread_expected,
    "any_pass": lambda t: np.where(np.isnan(t.high), NAN, t.most >= t.high - t.same()),
}
