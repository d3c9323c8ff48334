"""Many series on one grid of buckets, all names of a file at once.

A sealed set answers from its pyramid if that is fine enough for the buckets, else from its rows: a
narrow window has few points of a long series, so its buckets are of single points.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Shape
from rollscope.store.names.of_files import FileNames
from rollscope.store.numbers import buckets
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.rows import Floats, Ints, ranges
from rollscope.store.sealed.pyramid import LEVELS
from rollscope.store.sealed.reader import SealedSet

from . import metric_series, same_shape

Clock = Callable[[Ints, Ints], Floats]  # steps and times -> readings, the x axis
Merged = Callable[[str], Points]  # a series that needs its rows
AT_ONCE = 200_000  # points: a few times the cache of a core
Owned = tuple[Ints, Summaries]  # summaries, and the index of the series that owns each


class Window(NamedTuple):
    """Buckets between two readings of a clock."""

    lo: float
    hi: float
    buckets: int
    clock: Clock

    def buckets_over(self, sealed: SealedSet) -> float:
        """How many buckets a set would have if they went on over its whole extent."""
        extent = sealed.extent
        ends = np.array([min(extent.first.values(), default=0), extent.last_step])
        first, last = self.clock(ends, np.array([extent.lo_ns, extent.hi_ns]))
        return self.buckets * max(1.0, (last - first) / (self.hi - self.lo)) if self.hi > self.lo else self.buckets


def on_grid(
    folder: Folder,
    names: Sequence[str],
    lo: float,
    hi: float,
    count: int,
    clock: Clock,
    points: Callable[..., Points],
    env: str = "",
) -> dict[str, NDArray[Any]]:
    """Each statistic as a matrix of series by buckets.

    With `env`, a series is that of the environment; a name that has none is that of the run.
    """
    window = Window(lo, hi, count, clock)
    owned = _of_environment(names, env, points) if env else _gather(folder, names, window, points)
    return _matrices(owned, len(names), buckets.grid(lo, hi, count), clock)


def _of_environment(names: Sequence[str], env: str, points: Callable[..., Points]) -> Iterator[Owned]:
    for owner, name in enumerate(names):
        own = points(name, env=env)
        yield _owned(owner, Summaries.of(own if len(own.step) else points(name)))


def _matrices(owned: Iterable[Owned], rows: int, edges: Floats, clock: Clock) -> dict[str, NDArray[Any]]:
    parts = [_bucketed(one, edges, clock) for one in owned]
    count = len(edges) - 1
    keys = np.concatenate([np.empty(0, np.int64), *(key for key, _ in parts)])
    size = rows * count
    if not len(keys):
        flat = buckets.dense(keys, Summaries.of(metric_series.none()), size)
    else:
        summaries = Summaries.join([part for _, part in parts])
        order = np.lexsort((summaries.step, keys))
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        flat = buckets.dense(keys[order][starts], summaries.take(order).merged(starts), size)
    return {"edges": edges, **{name: values.reshape(rows, count) for name, values in flat.items()}}


def scaled(columns: dict[str, NDArray[Any]], rows: Sequence[int], scales: Sequence[float]) -> dict[str, NDArray[Any]]:
    """Some rows of the matrices, each in another unit: its values times its scale."""
    if list(rows) == list(range(len(columns["mean"]))) and all(scale == 1 for scale in scales):
        return columns
    taken = {name: column if name == "edges" else column[list(rows)] for name, column in columns.items()}
    by = np.array(scales, np.float64).reshape(-1, 1)
    values = {name: taken[name] * by for name in ("min", "max", "mean", "last")}
    for low, high in (("min", "max"), ("posinf", "neginf")):  # a negative scale turns them
        one, other = values.get(low, taken[low]), values.get(high, taken[high])
        values[low], values[high] = np.where(by < 0, other, one), np.where(by < 0, one, other)
    return {**taken, **values}


def _bucketed(owned: Owned, edges: Floats, clock: Clock) -> Owned:
    """Merge the summaries of one file per bucket. Keys are owner x buckets + bucket, ascending."""
    owner, summaries = owned
    index = buckets.bucket_of(clock(summaries.step, summaries.time_ns), edges)
    key = np.where(index < 0, -1, owner * (len(edges) - 1) + index)
    order = np.flatnonzero(key >= 0)
    if len(order) and (np.diff(key[order]) < 0).any():
        order = order[np.argsort(key[order], kind="stable")]
    in_order = len(order) == len(key) and bool((np.diff(order) > 0).all())
    key, summaries = key[order], summaries if in_order else summaries.take(order)
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    return key[starts], summaries.merged(starts)


def _gather(folder: Folder, names: Sequence[str], window: Window, points: Merged) -> Iterator[Owned]:
    """The summaries of all names: shared ones in groups, simple ones per file, others alone."""
    stored = folder.locations()
    shared = same_shape.groups(folder, [name for name in names if name in stored and not stored[name].simple])
    for group in shared:
        yield from _of_group(group, names)
    done = {name for group in shared for name in group.names}
    simple: dict[int, tuple[FileNames, list[int], list[int]]] = {}  # file -> owners, and their rows in it
    for owner, name in enumerate(names):
        location = stored.get(name)
        if name in done:
            continue
        if location is None or not location.simple:
            with contextlib.suppress(BadInput):  # of a kind that only a newer version can add
                yield _owned(owner, Summaries.of(points(name)))
            continue
        for part, i in location.parts:
            _, owners, rows = simple.setdefault(id(part), (part, [], []))
            owners.append(owner)
            rows.append(i)
    fine = 1 if len(names) > 20 else 4  # a single chart can afford to read its rows
    for part, owners, rows in simple.values():
        if isinstance(part.file, SealedSet):
            yield from of_set(part.file, np.array(owners), np.array(rows), fine * window.buckets_over(part.file))
        else:
            yield from _of_tail(part.file, dict(zip((part.names[i] for i in rows), owners, strict=True)))


def _owned(owner: int, summaries: Summaries) -> Owned:
    return np.full(len(summaries), owner), summaries


def _of_group(group: same_shape.SharedNames, names: Sequence[str]) -> Iterator[Owned]:
    owner = {name: i for i, name in enumerate(names)}
    for some, p in group.points():
        value, weight, low, high = (column.T.ravel() for column in (p.value, p.weight, p.low, p.high))
        flat = Points(np.tile(p.step, len(some)), np.tile(p.time_ns, len(some)), value, weight, low, high)
        yield np.repeat([owner[name] for name in some], len(p.step)), Summaries.of(flat)


def of_set(sealed: SealedSet, owners: Ints, rows: Ints, count: float) -> Iterator[Owned]:
    """The summaries of some names of a set, fine enough for `count` buckets."""
    points = sealed.columns["points"][rows]
    for level in reversed(LEVELS):
        if points.max() >= level * count and (summaries := sealed.summaries(level)) is not None:
            sizes = -(-points // level)
            yield np.repeat(owners, sizes), summaries.take(ranges(sealed.columns[f"block_{level}"][rows], sizes))
            return
    plain = sealed.columns["plain"][rows] & (sealed.columns["rows"][rows] == points)
    yield from _by_row_group(sealed, owners[plain], rows[plain])
    for owner, row in zip(owners[~plain].tolist(), rows[~plain].tolist(), strict=True):
        yield _owned(owner, Summaries.of(sealed.points(row)))


def _by_row_group(sealed: SealedSet, owners: Ints, rows: Ints) -> Iterator[Owned]:
    """Plain rows of many names. Each row group is read once however many names it has."""
    order = np.argsort(sealed.columns["row"][rows])
    owners, lo = owners[order], sealed.columns["row"][rows][order]
    hi = lo + sealed.columns["rows"][rows][order]
    starts = sealed.files["metrics.parquet"].starts
    first, after = np.searchsorted(hi, starts[:-1], "right"), np.searchsorted(lo, starts[1:], "left")
    for group in np.flatnonzero(first < after).tolist():
        here = slice(int(first[group]), int(after[group]))
        start, stop = int(starts[group]), int(starts[group + 1])
        if (summaries := sealed.plain_summaries(group)) is not None:
            begin, end = np.maximum(lo[here], start) - start, np.minimum(hi[here], stop) - start
            adjacent = bool((begin[1:] == end[:-1]).all())  # then nothing is copied
            index = slice(int(begin[0]), int(end[-1])) if adjacent else ranges(begin, end - begin)
            yield np.repeat(owners[here], end - begin), summaries.take(index)


def _of_tail(tail: Tail, owners: dict[str, int]) -> Iterator[Owned]:
    wide, long = tail.metrics.wide, tail.metrics.long
    alone = {name: own[0][0] for name in owners if name not in long.codes and len(own := wide.unscoped(name)) == 1}
    for shape in wide.shapes.values():
        columns = [(column, owners[name]) for column, name in enumerate(shape.names) if alone.get(name) is shape]
        if columns:
            yield from _of_shape(shape, np.array([c for c, _ in columns]), np.array([o for _, o in columns]))
    for name in owners.keys() - alone.keys():
        rows = tail.metrics.rows(name).unscoped()
        points = Points(rows.step, rows.time_ns, rows.value, rows.weight, rows.value, rows.value)
        yield _owned(owners[name], Summaries.of(points))


def _of_shape(shape: Shape, columns: Ints, owners: Ints) -> Iterator[Owned]:
    """One summary per call and name, some names at a time."""
    for calls in shape.calls:
        n = len(calls)
        width = max(1, AT_ONCE // n)
        for at in range(0, len(columns), width):
            some = columns[at : at + width]
            step, time_ns = np.tile(calls.step, len(some)), np.tile(calls.time_ns, len(some))
            value = calls.values[:, some].T.ravel()
            weight = np.full(len(value), np.nan) if calls.weights is None else calls.weights[:, some].T.ravel()
            summaries = Summaries.of(Points(step, time_ns, value, weight, value, value))
            yield np.repeat(owners[at : at + len(some)], n), summaries
