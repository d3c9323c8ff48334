"""Series at the resolution of a screen: per bucket the lowest, highest, mean and last finite value, and how many were not finite.

No spike is ever sampled away, and one NaN does not blot out the band: finite statistics stand beside the counts of NaN,
+Inf and -Inf. A point with weight 0 is no data, which is none of the four. Buckets are made of `Blocks`, which are single points
or the stored summaries of many (`pyramid.py`).
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
class Blocks:
    """Consecutive stretches of a series, each with what is needed to summarise it further."""

    step: Ints  # of the last point
    time_ns: Ints
    min: Floats  # NaN: nothing finite
    max: Floats
    sum: Floats
    last: Floats
    count: Ints  # finite ones
    nan: Ints
    posinf: Ints
    neginf: Ints

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: Ints | slice) -> Blocks:
        return Blocks(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Blocks]) -> Blocks:
        return (
            parts[0]
            if len(parts) == 1
            else cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))
        )

    @classmethod
    def of(cls, p: Points) -> Blocks:
        """Every point as a block of its own."""
        finite = np.isfinite(p.value)
        low, high = np.where(np.isfinite(p.low), p.low, np.nan), np.where(np.isfinite(p.high), p.high, np.nan)
        nan = np.isnan(p.value) & (p.weight != 0)
        counts = [mask.astype(np.int64) for mask in (finite, nan, p.value == np.inf, p.value == -np.inf)]
        return cls(
            p.step, p.time_ns, low, high, np.where(finite, p.value, 0.0), np.where(finite, p.value, np.nan), *counts
        )

    @classmethod
    def plain(cls, step: Ints, time_ns: Ints, value: Floats) -> Blocks:
        """The same of numbers that one writer logged once a step; columns that say the same are the same memory."""
        finite = np.isfinite(value)
        if finite.all():
            none, one = (np.broadcast_to(np.int64(n), len(value)) for n in (0, 1))
            return cls(step, time_ns, value, value, value, value, one, none, none, none)
        known = np.where(finite, value, np.nan)
        counts = [mask.astype(np.int64) for mask in (finite, np.isnan(value), value == np.inf, value == -np.inf)]
        return cls(step, time_ns, known, known, np.where(finite, value, 0.0), known, *counts)

    def runs(self, starts: Ints) -> Blocks:
        """One block for each run of blocks that begins at `starts`."""
        if not len(starts):
            return self.take(starts)
        at = np.maximum.reduceat(np.where(self.count > 0, np.arange(len(self)), -1), starts)
        ends = np.append(starts[1:], len(self)) - 1
        counts = [np.add.reduceat(column, starts) for column in (self.count, self.nan, self.posinf, self.neginf)]
        return Blocks(
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
    """Edges of `points` buckets of equal width that hold both ends."""
    return np.linspace(lo, hi if hi > lo else lo + 1, points + 1)


def place(x: Floats, edges: Floats) -> Ints:
    """The bucket of each x; the last edge belongs to the last bucket, and what lies outside is -1."""
    lo, hi, count = edges[0], edges[-1], len(edges) - 1
    with np.errstate(invalid="ignore"):
        index = np.minimum((x - lo) * (count / (hi - lo)), count - 1)
        return np.where((x >= lo) & (x <= hi), index, -1).astype(np.int64)


def sparse(blocks: Blocks, x: Floats, edges: Floats) -> tuple[Ints, Floats, Blocks]:
    """Buckets that hold something, where their last point lies, and what they hold."""
    index = place(x, edges)
    order = np.flatnonzero(index >= 0)
    if len(order) and (np.diff(index[order]) < 0).any():  # a clock that went backwards
        order = order[np.argsort(index[order], kind="stable")]
    blocks, index = blocks.take(order), index[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    ends = np.append(starts[1:], len(index)) - 1 if len(starts) else starts
    return index[starts], x[order[ends]], blocks.runs(starts)


def dense(index: Ints, found: Blocks, size: int) -> Buckets:
    """The same on the whole grid: NaN and 0 where nothing was logged."""
    out: Buckets = {}
    for name, values in found.columns().items():
        fill = np.nan if values.dtype == np.float64 else -1 if name in ("step", "time_ns") else 0
        out[name] = np.full(size, fill, values.dtype)
        out[name][index] = values
    return out
