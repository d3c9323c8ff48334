"""Buckets: per bucket the lowest, highest, mean and last finite value, and counts of the rest.

Buckets keep every spike. One NaN does not hide a bucket: finite statistics stand beside the counts
of NaN, +Inf and -Inf. A point with weight 0 is no data and counts as none of them. Buckets are
built from `Summaries`, each of a single point or, from the pyramid of a sealed set, of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .merge import Points
from .rows import Floats, Ints

Buckets = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Summaries:
    """Summaries of consecutive stretches of a series. Neighbours can be merged further."""

    step: Ints  # of the last point
    time_ns: Ints
    min: Floats  # NaN: no finite point
    max: Floats
    sum: Floats
    last: Floats
    count: Ints  # of finite points
    nan: Ints
    posinf: Ints
    neginf: Ints

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: Ints | slice) -> Summaries:
        return Summaries(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Summaries]) -> Summaries:
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    @classmethod
    def of(cls, p: Points) -> Summaries:
        """One summary per point."""
        finite = np.isfinite(p.value)
        low, high = np.where(np.isfinite(p.low), p.low, np.nan), np.where(np.isfinite(p.high), p.high, np.nan)
        nan = np.isnan(p.value) & (p.weight != 0)
        counts = [mask.astype(np.int64) for mask in (finite, nan, p.value == np.inf, p.value == -np.inf)]
        total, last = np.where(finite, p.value, 0.0), np.where(finite, p.value, np.nan)
        return cls(p.step, p.time_ns, low, high, total, last, *counts)

    @classmethod
    def plain(cls, step: Ints, time_ns: Ints, value: Floats) -> Summaries:
        """One summary per plain number of a single writer. Columns that are equal share memory."""
        finite = np.isfinite(value)
        if finite.all():
            none, one = (np.broadcast_to(np.int64(n), len(value)) for n in (0, 1))
            return cls(step, time_ns, value, value, value, value, one, none, none, none)
        known = np.where(finite, value, np.nan)
        counts = [mask.astype(np.int64) for mask in (finite, np.isnan(value), value == np.inf, value == -np.inf)]
        return cls(step, time_ns, known, known, np.where(finite, value, 0.0), known, *counts)

    def merged(self, starts: Ints) -> Summaries:
        """Merge each stretch of summaries that begins at `starts` into one."""
        if not len(starts):
            return self.take(starts)
        at = np.maximum.reduceat(np.where(self.count > 0, np.arange(len(self)), -1), starts)
        ends = np.append(starts[1:], len(self)) - 1
        counts = [np.add.reduceat(column, starts) for column in (self.count, self.nan, self.posinf, self.neginf)]
        return Summaries(
            self.step[ends],
            self.time_ns[ends],
            np.fmin.reduceat(self.min, starts),
            np.fmax.reduceat(self.max, starts),
            np.add.reduceat(self.sum, starts),
            np.where(at < 0, np.nan, self.last[at]),
            *counts,
        )

    def columns(self) -> Buckets:
        count = self.count
        mean = np.divide(self.sum, count, out=np.full(len(self), np.nan), where=count > 0)
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "sum"}
        return {**named, "mean": mean}


def grid(lo: float, hi: float, points: int) -> Floats:
    """Edges of `points` buckets of equal width from lo to hi."""
    return np.linspace(lo, hi if hi > lo else max(lo + 1, np.nextafter(lo, np.inf)), points + 1)


def bucket_of(x: Floats, edges: Floats) -> Ints:
    """The bucket of each x, -1 outside. The last edge belongs to the last bucket."""
    lo, hi, count = edges[0], edges[-1], len(edges) - 1
    with np.errstate(invalid="ignore"):
        index = np.minimum((x - lo) * (count / (hi - lo)), count - 1)
        return np.where((x >= lo) & (x <= hi), index, -1).astype(np.int64)


def sparse(points: Summaries, x: Floats, edges: Floats) -> tuple[Ints, Floats, Summaries]:
    """The buckets that are not empty: their index, the x of their last point, and their summary."""
    index = bucket_of(x, edges)
    order = np.flatnonzero(index >= 0)
    if len(order) and (np.diff(index[order]) < 0).any():  # the clock went backwards
        order = order[np.argsort(index[order], kind="stable")]
    points, index = points.take(order), index[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    ends = np.append(starts[1:], len(index)) - 1 if len(starts) else starts
    return index[starts], x[order[ends]], points.merged(starts)


def dense(index: Ints, buckets: Summaries, size: int) -> Buckets:
    """Spread buckets over a grid of `size`: NaN and 0 where nothing was logged."""
    out: Buckets = {}
    for name, values in buckets.columns().items():
        fill = np.nan if values.dtype == np.float64 else -1 if name in ("step", "time_ns") else 0
        out[name] = np.full(size, fill, values.dtype)
        out[name][index] = values
    return out
