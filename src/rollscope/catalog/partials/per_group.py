"""Statistics of groups that may lie on several ranks.

A `PerGroup` holds, for each group, a 53-bit hash of its id, its size, its declared range, and the
numbers that the `inner` statistic needs: all values in ascending order, the two ends, mean and M2,
or none. Merging pools the numbers of each group. Values and ends give the same bits for any order
and split; moments agree to rounding. The value reduces the groups' statistics with `outer`.
Groups whose statistic is not defined do not count: `weight` is the number of those that do,
`not_counted` the number of those that do not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .group_statistics import (
    MOMENTS,
    REDUCTIONS,
    STATISTICS,
    Floats,
    GroupTable,
    Ints,
    reduce_groups,
    stored_counts,
)
from .partial import NAN, Partial, State, kind

# The store writes the position in these tuples: append, never insert.
INNER = (
    *("size", "mean", "std", "std0", "min", "max", "spread", "zero_spread", "all_pass", "all_fail", "mixed"),
    *("gini", "cv", "max_median", "zero_spread_expected", "any_pass"),
)
OUTER = ("mean", "min", "max", "std", "sum", "not_counted", "count")


def group_ids(group: Any) -> Floats:
    """Hash each id to an integer below 2**53, which a float holds exactly.

    The hash is the same in every process.

    >>> (group_ids(["a", "b", "a"]) == group_ids(np.array(["a", "b", "a"], object))).all()
    np.True_
    """
    names = [id_text(g) for g in (group.tolist() if isinstance(group, np.ndarray) else group)]
    hashes = {name: _hash(name) for name in set(names)}
    return np.array([hashes[name] for name in names], np.float64)


def _hash(name: str) -> float:
    return float(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") >> 11)


def id_text(group: Any) -> str:
    """An id as text; a group that is 3 on one rank may be 3.0 on another."""
    return str(int(group)) if isinstance(group, float) and group.is_integer() else str(group)


class Groups:
    """The groups of a batch: ascending `ids` [G], and `of` [B], each sample's position in `ids`."""

    def __init__(self, group: Any) -> None:
        self.ids, self.of = np.unique(group_ids(group), return_inverse=True)

    def __len__(self) -> int:
        return len(self.of)


def _empty() -> Floats:
    return np.empty(0, np.float64)


@kind("per_group")
@dataclass(frozen=True, slots=True, eq=False)
class PerGroup(Partial):
    """The `outer` statistic over groups; the `inner` one is over the values of a group."""

    inner: str
    outer: str = "mean"
    ids: Floats = field(default_factory=_empty)  # [G] ascending
    low: Floats = field(default_factory=_empty)  # [G] declared; NaN if not declared
    high: Floats = field(default_factory=_empty)
    size: Floats = field(default_factory=_empty)  # [G] values that are not NaN
    numbers: Floats = field(default_factory=_empty)  # flat; `stored_counts` says how many per group

    @classmethod
    def of(cls, inner: str, values: Any, group: Any, low: Any = NAN, high: Any = NAN, outer: str = "mean") -> PerGroup:
        """Make it from values [B] and their groups, which are `Groups` or ids [B].

        `low` and `high` are the declared range, for all values or one for each. A NaN is a member
        of the group that has no value.
        """
        groups = group if isinstance(group, Groups) else Groups(group)
        x = np.asarray(values, np.float64).ravel() + 0.0  # makes -0.0 and 0.0 one number
        lows, highs = (np.broadcast_to(np.asarray(bound, np.float64), x.shape) for bound in (low, high))
        known = ~np.isnan(x)
        low_G = _bound(np.where(known, lows, NAN), groups.of, len(groups.ids), np.fmin)
        high_G = _bound(np.where(known, highs, NAN), groups.of, len(groups.ids), np.fmax)
        counts = np.bincount(groups.of[known], minlength=len(groups.ids))
        ordered = x[known][np.lexsort((x[known], groups.of[known]))]
        numbers = reduce_groups(inner, ordered, counts)
        return cls(inner, outer, groups.ids, low_G, high_G, counts.astype(np.float64), numbers)

    def __add__(self, other: PerGroup) -> PerGroup:
        mine, theirs = f"{self.inner}/{self.outer}", f"{other.inner}/{other.outer}"
        assert mine == theirs, f"{mine} and {theirs} are two statistics"
        ids, where = np.unique(np.r_[self.ids, other.ids], return_inverse=True)
        low = _bound(np.r_[self.low, other.low], where, len(ids), np.fmin)
        high = _bound(np.r_[self.high, other.high], where, len(ids), np.fmax)
        size = np.bincount(where, np.r_[self.size, other.size], len(ids)).astype(np.float64)
        merge = _merge_moments if self.inner in MOMENTS else _merge_values
        return PerGroup(self.inner, self.outer, ids, low, high, size, merge(self, other, where, len(ids)))

    def per_group(self) -> Floats:
        """The inner statistic of each group, in the order of `ids`; NaN if it is not defined."""
        statistic = np.full(len(self.ids), NAN)
        filled = self.size > 0
        if filled.any():
            table = GroupTable(self.inner, self.size, self.low, self.high, self.numbers)
            with np.errstate(all="ignore"):
                statistic[filled] = STATISTICS[self.inner](table)
        return statistic

    @property
    def value(self) -> float:
        each = self.per_group()
        counted = each[~np.isnan(each)]
        if self.outer == "not_counted":
            return float(len(each) - len(counted)) if len(each) else NAN
        least = 2 if self.outer == "std" else 1
        return float(REDUCTIONS[self.outer](counted)) if len(counted) >= least else NAN

    @property
    def weight(self) -> float:
        if self.outer == "not_counted":
            return float(len(self.ids))
        return float(np.count_nonzero(~np.isnan(self.per_group())))

    @property
    def not_counted(self) -> float:
        return float(np.count_nonzero(np.isnan(self.per_group())))

    def state(self) -> State:
        """The head (inner, outer, G, own ranges?, low, high), a row per group, then the numbers.

        A row is (id, size), or (id, size, low, high) if the groups have ranges of their own.
        """
        one_range = _constant(self.low) and _constant(self.high)
        columns = (self.ids, self.size) if one_range else (self.ids, self.size, self.low, self.high)
        low, high = (self.low[0], self.high[0]) if one_range and len(self.ids) else (NAN, NAN)
        statistic = (float(INNER.index(self.inner)), float(OUTER.index(self.outer)))
        head = (*statistic, float(len(self.ids)), float(not one_range), float(low), float(high))
        return (*head, *np.stack(columns, 1).ravel().tolist(), *self.numbers.tolist())

    @classmethod
    def of_state(cls, state: Sequence[float]) -> Self:
        groups, width = int(state[2]), 4 if state[3] else 2
        rows = np.asarray(state[6 : 6 + width * groups], np.float64).reshape(groups, width).T
        low, high = (rows[2], rows[3]) if state[3] else (np.full(groups, state[4]), np.full(groups, state[5]))
        numbers = np.asarray(state[6 + width * groups :], np.float64)
        return cls(INNER[int(state[0])], OUTER[int(state[1])], rows[0], low, high, rows[1], numbers)


def _constant(bounds: Floats) -> bool:
    return len(bounds) == 0 or np.array_equal(bounds, np.full_like(bounds, bounds[0]), equal_nan=True)


def _bound(declared: Floats, where: Ints, groups: int, end: np.ufunc) -> Floats:
    """Reduce bounds given per value to one per group. NaN means "not declared": any number wins."""
    bounds = np.full(groups, NAN)
    end.at(bounds, where, declared)
    return bounds


def _merge_values(a: PerGroup, b: PerGroup, where: Ints, groups: int) -> Floats:
    values = np.r_[a.numbers, b.numbers]
    of = np.repeat(where, np.r_[stored_counts(a.inner, a.size), stored_counts(b.inner, b.size)])
    return reduce_groups(a.inner, values[np.lexsort((values, of))], np.bincount(of, minlength=groups))


def _merge_moments(a: PerGroup, b: PerGroup, where: Ints, groups: int) -> Floats:
    """Apply Chan's rule in all groups at once."""
    n, mean, m2 = np.zeros((3, 2, groups))
    for side, (part, at) in enumerate(((a, where[: len(a.ids)]), (b, where[len(a.ids) :]))):
        filled = part.size > 0
        n[side, at] = part.size
        mean[side, at[filled]], m2[side, at[filled]] = part.numbers.reshape(-1, 2).T
    total = n.sum(0)
    with np.errstate(all="ignore"):
        delta = mean[1] - mean[0]
        both = (n[0] > 0) & (n[1] > 0)
        pooled = np.where(both, mean[0] + delta * (n[1] / total), np.where(n[0] > 0, mean[0], mean[1]))
        squares = m2[0] + m2[1] + np.where(both, delta * delta * (n[0] * n[1] / total), 0.0)
    moments: Floats = np.stack([pooled, squares], 1)[total > 0].ravel()
    return moments
