"""Series at the resolution of a screen: per bucket the lowest, highest, mean and last finite value, and how many were not finite.

No spike is ever sampled away, and one NaN does not blot out the band: finite statistics stand beside the counts of NaN,
+Inf and -Inf. A point with weight 0 is no data, which is none of the four.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .merge import Points
from .rows import Floats, Ints

FLOATS = ("min", "max", "mean", "last")
COUNTS = ("count", "nan", "posinf", "neginf")
Buckets = dict[str, NDArray[Any]]


def grid(lo: float, hi: float, points: int) -> Floats:
    """Edges of `points` buckets of equal width that hold both ends."""
    return np.linspace(lo, hi if hi > lo else lo + 1, points + 1)


def place(x: Floats, edges: Floats) -> Ints:
    """The bucket of each x; the last edge belongs to the last bucket, and what lies outside is -1."""
    index = np.searchsorted(edges, x, side="right") - 1
    index[x == edges[-1]] = len(edges) - 2
    index[~((x >= edges[0]) & (x <= edges[-1]))] = -1
    return index


def sparse(points: Points, x: Floats, edges: Floats | None) -> Buckets:
    """Buckets that hold something, in order; without edges every point is its own."""
    index = np.arange(len(x)) if edges is None else place(x, edges)
    order = np.flatnonzero(index >= 0)
    if len(order) and (np.diff(index[order]) < 0).any():  # a clock that went backwards
        order = order[np.argsort(index[order], kind="stable")]
    index = index[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    found = statistics(points.value[order], points.low[order], points.high[order], points.weight[order] == 0, starts)
    ends = np.append(starts[1:], len(index)) - 1 if len(starts) else starts
    last = order[ends]
    return {"bucket": index[starts], "x": x[last], "step": points.step[last], "time_ns": points.time_ns[last], **found}


def statistics(value: Floats, low: Floats, high: Floats, absent: NDArray[np.bool_], starts: Ints) -> Buckets:
    """Statistics of the runs of values that begin at `starts`."""
    if not len(starts):
        return {**{name: np.empty(0) for name in FLOATS}, **{name: np.empty(0, np.int64) for name in COUNTS}}
    finite = np.isfinite(value)
    count = np.add.reduceat(finite, starts, dtype=np.int64)
    total = np.add.reduceat(np.where(finite, value, 0.0), starts)
    none = count == 0
    mean = np.divide(total, count, out=np.full(len(starts), np.nan), where=~none)
    least = np.fmin.reduceat(np.where(np.isfinite(low), low, np.nan), starts)
    most = np.fmax.reduceat(np.where(np.isfinite(high), high, np.nan), starts)
    at = np.maximum.reduceat(np.where(finite, np.arange(len(value)), -1), starts)
    last = np.where(none, np.nan, value[at])
    nan = np.add.reduceat(np.isnan(value) & ~absent, starts, dtype=np.int64)
    up, down = (np.add.reduceat(value == sign * np.inf, starts, dtype=np.int64) for sign in (1, -1))
    return {"min": least, "max": most, "mean": mean, "last": last, "count": count, "nan": nan, "posinf": up, "neginf": down}


def dense(found: Buckets, points: int) -> Buckets:
    """The same on the whole grid: NaN and 0 where nothing was logged."""
    out: Buckets = {}
    for name in (*FLOATS, *COUNTS, "step", "time_ns"):
        fill: float = np.nan if name in FLOATS else -1 if name in ("step", "time_ns") else 0
        out[name] = np.full(points, fill, found[name].dtype)
        out[name][found["bucket"]] = found[name]
    return out
