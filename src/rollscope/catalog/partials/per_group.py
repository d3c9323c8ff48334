"""Statistics of groups that may lie on several ranks: every group keeps what its statistic needs until the step is closed.

A `PerGroup` holds, for each group (known by a 53-bit hash of its id), its size, the range declared for it, and the numbers of the `inner` statistic:
all values in ascending order, or the two ends, or mean and M2, or nothing. Merging pools each group's numbers; where values or ends are kept the form is
canonical and any order and split gives the same bits, where moments are kept it agrees to rounding. Read, it reduces the groups' statistics with
`outer`. Groups for which the statistic is not defined are not counted; `weight` is how many were, `not_counted` how many were not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .partial import NAN, Partial, State, kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SAME = 1e-6  # of the range: values closer than this are equal

# The place in these tuples is what the store keeps: only ever append.
INNER = ("size", "mean", "std", "std0", "min", "max", "spread", "zero_spread", "all_pass", "all_fail", "mixed", "gini", "cv", "max_median", "zero_spread_expected", "any_pass")  # fmt: skip
OUTER = ("mean", "min", "max", "std", "sum", "not_counted", "count")
ENDS = {
    "min",
    "max",
    "spread",
    "zero_spread",
    "all_pass",
    "all_fail",
    "mixed",
    "any_pass",
}  # lowest and highest value are enough
MOMENTS = {"mean", "std", "std0", "cv", "zero_spread_expected"}  # mean and M2 are


def group_ids(group: Any) -> Floats:
    """Each id as a whole number below 2**53, the same in every process: a float holds it exactly.

    >>> (group_ids(["a", "b", "a"]) == group_ids(np.array(["a", "b", "a"], object))).all()
    np.True_
    """
    names = [_text(g) for g in (group.tolist() if isinstance(group, np.ndarray) else group)]
    known = {
        name: float(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") >> 11)
        for name in set(names)
    }
    return np.array([known[name] for name in names], np.float64)


def _text(group: Any) -> str:
    return (
        str(int(group)) if isinstance(group, float) and group.is_integer() else str(group)
    )  # 3 on one rank may be 3.0 on another


class Groups:
    """The groups of a batch's samples: `ids` of the G groups ascending, and `of`, the place of each sample's group among them."""

    def __init__(self, group: Any) -> None:
        self.ids, self.of = np.unique(group_ids(group), return_inverse=True)

    def __len__(self) -> int:
        return len(self.of)


def _none() -> Floats:
    return np.empty(0, np.float64)


@kind("per_group")
@dataclass(frozen=True, slots=True, eq=False)
class PerGroup(Partial):
    """`outer` over groups of `inner` over the values of a group."""

    inner: str
    outer: str = "mean"
    ids: Floats = field(default_factory=_none)  # [G] ascending
    low: Floats = field(default_factory=_none)  # [G] declared, NaN where nothing was
    high: Floats = field(default_factory=_none)
    size: Floats = field(default_factory=_none)  # [G] values that were there
    kept: Floats = field(default_factory=_none)  # flat, `_kept(inner, size)` numbers for each group

    @classmethod
    def of(cls, inner: str, values: Any, group: Any, low: Any = NAN, high: Any = NAN, outer: str = "mean") -> PerGroup:
        """Values `[B]` with their groups (`Groups`, or ids `[B]`) and the declared range, one for all or one per value. A NaN is a member without this value."""
        groups = group if isinstance(group, Groups) else Groups(group)
        x = np.asarray(values, np.float64).ravel() + 0.0  # so that -0.0 and 0.0 are one number
        lows = _bound(np.broadcast_to(np.asarray(low, np.float64), x.shape), groups.of, len(groups.ids), np.fmin)
        highs = _bound(np.broadcast_to(np.asarray(high, np.float64), x.shape), groups.of, len(groups.ids), np.fmax)
        there = ~np.isnan(x)
        size = np.bincount(groups.of[there], minlength=len(groups.ids)).astype(np.float64)
        ordered = x[there][np.lexsort((x[there], groups.of[there]))]
        return cls(inner, outer, groups.ids, lows, highs, size, _reduced(inner, ordered, size.astype(np.int64)))

    def __add__(self, other: PerGroup) -> PerGroup:
        assert (self.inner, self.outer) == (other.inner, other.outer), (
            f"{self.inner}/{self.outer} and {other.inner}/{other.outer} are two statistics"
        )
        ids, where = np.unique(np.r_[self.ids, other.ids], return_inverse=True)
        low = _bound(np.r_[self.low, other.low], where, len(ids), np.fmin)
        high = _bound(np.r_[self.high, other.high], where, len(ids), np.fmax)
        size = np.bincount(where, np.r_[self.size, other.size], len(ids)).astype(np.float64)
        if self.inner in MOMENTS:
            kept = _chan(self, other, where, len(ids))
        else:
            values = np.r_[self.kept, other.kept]
            of = np.repeat(where, np.r_[_kept(self.inner, self.size), _kept(other.inner, other.size)])
            pooled = np.bincount(of, minlength=len(ids))
            kept = _reduced(self.inner, values[np.lexsort((values, of))], pooled) if len(values) else values
        return PerGroup(self.inner, self.outer, ids, low, high, size, kept)

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
        return float(REDUCTIONS[self.outer](counted)) if len(counted) >= (2 if self.outer == "std" else 1) else NAN

    @property
    def weight(self) -> float:
        return (
            float(len(self.ids))
            if self.outer == "not_counted"
            else float(np.count_nonzero(~np.isnan(self.per_group())))
        )

    @property
    def not_counted(self) -> float:
        return float(np.count_nonzero(np.isnan(self.per_group())))

    def state(self) -> State:
        """(inner, outer, G, own ranges?, low, high), then (id, size) of every group, with (low, high) where they differ, then what is kept."""
        one_range = len(self.ids) == 0 or all(
            np.array_equal(r, np.full_like(r, r[0]), equal_nan=True) for r in (self.low, self.high)
        )
        columns = (self.ids, self.size) if one_range else (self.ids, self.size, self.low, self.high)
        low, high = (self.low[0], self.high[0]) if one_range and len(self.ids) else (NAN, NAN)
        head = (
            float(INNER.index(self.inner)),
            float(OUTER.index(self.outer)),
            float(len(self.ids)),
            float(not one_range),
            float(low),
            float(high),
        )
        return (*head, *np.stack(columns, 1).ravel().tolist(), *self.kept.tolist())

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        groups, width = int(state[2]), 4 if state[3] else 2
        rows = np.asarray(state[6 : 6 + width * groups], np.float64).reshape(groups, width).T
        low, high = (rows[2], rows[3]) if state[3] else (np.full(groups, state[4]), np.full(groups, state[5]))
        return cls(
            INNER[int(state[0])],
            OUTER[int(state[1])],
            rows[0],
            low,
            high,
            rows[1],
            np.asarray(state[6 + width * groups :], np.float64),
        )


def _bound(declared: Floats, where: Ints, groups: int, end: np.ufunc) -> Floats:
    """One bound per group of bounds given per value; NaN is "not declared" and loses against any number."""
    found = np.full(groups, NAN)
    end.at(found, where, declared)
    return found


def _kept(inner: str, size: Floats) -> Ints:
    """How many numbers a group keeps."""
    if inner == "size":
        return np.zeros(len(size), np.int64)
    return np.where(size > 0, 2, 0) if inner in ENDS | MOMENTS else size.astype(np.int64)


def _first(counts: Ints) -> Ints:
    return np.cumsum(counts) - counts


def _reduced(inner: str, values: Floats, counts: Ints) -> Floats:
    """What the statistic needs of values that lie group by group, ascending."""
    some = counts > 0
    first, last = _first(counts)[some], (np.cumsum(counts) - 1)[some]
    if inner == "size" or not len(values):
        return _none()
    if inner in ENDS:
        return np.stack([values[first], values[last]], 1).ravel()
    if inner not in MOMENTS:
        return values
    with np.errstate(all="ignore"):
        flat = values[first] == values[last]  # equal values have no spread, rounding or not
        mean = np.where(flat, values[first], np.add.reduceat(values, first) / counts[some])
        squares = np.add.reduceat(np.square(values - np.repeat(mean, counts[some])), first)
    return np.stack([mean, np.where(flat, 0.0, squares)], 1).ravel()


def _chan(a: PerGroup, b: PerGroup, where: Ints, groups: int) -> Floats:
    """Chan's rule in every group at once."""
    n, mean, m2 = np.zeros((3, 2, groups))
    for side, (part, at) in enumerate(((a, where[: len(a.ids)]), (b, where[len(a.ids) :]))):
        some = part.size > 0
        n[side, at] = part.size
        mean[side, at[some]], m2[side, at[some]] = part.kept.reshape(-1, 2).T
    total = n.sum(0)
    with np.errstate(all="ignore"):
        delta = mean[1] - mean[0]
        both = (n[0] > 0) & (n[1] > 0)
        pooled = np.where(both, mean[0] + delta * (n[1] / total), np.where(n[0] > 0, mean[0], mean[1]))
        squares = m2[0] + m2[1] + np.where(both, delta * delta * (n[0] * n[1] / total), 0.0)
    found: Floats = np.stack([pooled, squares], 1)[total > 0].ravel()
    return found


class _Table:
    """The groups that hold values: one row per group in `n`, `low`, `high`; what they keep in `least, most` or `mean, m2`, or flat in `x`."""

    def __init__(self, part: PerGroup, some: NDArray[np.bool_]) -> None:
        self.low, self.high, self.n = part.low[some], part.high[some], part.size[some]
        self.x, self.counts = part.kept, _kept(part.inner, part.size)[some]
        self.first = _first(self.counts)
        if part.inner in ENDS | MOMENTS:
            pairs = part.kept.reshape(-1, 2).T
            self.least, self.most = self.mean, self.m2 = pairs[0], pairs[1]
        elif part.inner != "size":
            self.least, self.most = self.x[self.first], self.x[self.first + self.counts - 1]

    def sum(self, x: Floats) -> Floats:
        return np.asarray(np.add.reduceat(x, self.first), np.float64)

    def spread_out(self, per_group: Floats) -> Floats:
        return np.repeat(per_group, self.counts)

    def same(self) -> Floats:
        """The largest difference that is still none: a millionth of the declared range, else of what was observed."""
        declared = self.high - self.low
        return SAME * np.where(declared > 0, declared, float(self.most.max() - self.least.min()))

    def at_least_two(self, found: Any) -> Floats:
        return np.where(self.n >= 2, np.asarray(found, np.float64), NAN)


def _std(t: _Table) -> Floats:
    return t.at_least_two(np.sqrt(t.m2 / (t.n - 1)))


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
    x = np.where(
        (x < 0) & (x >= -SAME * t.spread_out(np.maximum(np.abs(shift), t.most - t.least))), 0.0, x
    )  # float32 of a bound may lie just below it
    rank = np.arange(len(x)) - t.spread_out(t.first.astype(np.float64)) + 1
    found = t.sum((2 * rank - t.spread_out(t.n) - 1) * x) / (t.n * t.sum(x))
    found = np.where(t.least == t.most, 0.0, found)
    return t.at_least_two(np.where(x[t.first] < 0, NAN, found))


def _max_median(t: _Table) -> Floats:
    middle = (t.x[t.first + (t.counts - 1) // 2] + t.x[t.first + t.counts // 2]) / 2
    return np.where(t.most == t.least, 1.0, np.where(middle == 0, NAN, t.most / middle))


def _zero_spread_expected(t: _Table) -> Floats:
    """The values are the pass rate of the group's prompt so far, the size is how many attempts were made now."""
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
STATISTICS: dict[str, Callable[[_Table], Floats]] = {
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
