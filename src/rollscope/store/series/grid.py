"""Many series on one grid: from the pyramid where it is fine enough, from rows where it is not, all names of a file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Shape
from rollscope.store.name_index import FileNames
from rollscope.store.numbers import buckets
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.rows import Floats, Ints, ranges
from rollscope.store.sealed.pyramid import LEVELS
from rollscope.store.sealed.reader import SealedSet

from . import metric_series, same_shape

Clock = Callable[[Ints, Ints], Floats]  # steps and times -> where they lie on the axis
Merged = Callable[[str], Points]  # a series that needs its rows
AT_ONCE = 200_000  # points: what fits a core's cache a few times over
Owned = tuple[Ints, Summaries]  # whose block it is, and the blocks


def on_grid(
    folder: Folder, names: Sequence[str], lo: float, hi: float, count: int, clock: Clock, points: Merged
) -> dict[str, NDArray[Any]]:
    """Each statistic as a matrix of series by buckets."""
    edges = buckets.grid(lo, hi, count)
    found = [_bucketed(owned, edges, clock) for owned in _gather(folder, names, count, points)]
    keys = np.concatenate([np.empty(0, np.int64), *(key for key, _ in found)])
    size = len(names) * count
    if not len(keys):
        flat = buckets.dense(keys, Summaries.of(metric_series.none()), size)
    else:
        blocks = Summaries.join([block for _, block in found])
        order = np.lexsort((blocks.step, keys))
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        flat = buckets.dense(keys[order][starts], blocks.take(order).merged(starts), size)
    return {"edges": edges, **{name: values.reshape(len(names), count) for name, values in flat.items()}}


def _bucketed(owned: Owned, edges: Floats, clock: Clock) -> Owned:
    """Summaries of one file in their buckets: owner x buckets + bucket, ascending."""
    owner, blocks = owned
    index = buckets.bucket_of(clock(blocks.step, blocks.time_ns), edges)
    key = np.where(index < 0, -1, owner * (len(edges) - 1) + index)
    order = np.flatnonzero(key >= 0)
    if len(order) and (np.diff(key[order]) < 0).any():
        order = order[np.argsort(key[order], kind="stable")]
    in_place = len(order) == len(key) and bool((np.diff(order) > 0).all())
    key, blocks = key[order], blocks if in_place else blocks.take(order)
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    return key[starts], blocks.merged(starts)


def _gather(folder: Folder, names: Sequence[str], count: int, points: Merged) -> Iterator[Owned]:
    """Summaries of every name, file by file; names that need merging by themselves."""
    places = folder.locations()
    wanted: dict[int, tuple[FileNames, list[int], list[int]]] = {}
    together = same_shape.groups(folder, [name for name in names if name in places and not places[name].simple])
    for group in together:
        yield from _of_group(group, names)
    merged = {name for group in together for name in group.names}
    for owner, name in enumerate(names):
        place = places.get(name)
        if name in merged:
            continue
        if place is None or not place.simple:
            blocks = Summaries.of(points(name))
            yield np.full(len(blocks), owner), blocks
            continue
        for part, i in place.parts:
            _, owners, rows = wanted.setdefault(id(part), (part, [], []))
            owners.append(owner)
            rows.append(i)
    fine = 1 if len(names) > 20 else 4  # a single chart can afford to read its rows
    for part, owners, rows in wanted.values():
        if isinstance(part.file, SealedSet):
            yield from _of_set(part.file, np.array(owners), np.array(rows), count * fine)
        else:
            yield from _of_tail(part.file, dict(zip((part.names[i] for i in rows), owners, strict=True)))


def _of_group(group: same_shape.Alike, names: Sequence[str]) -> Iterator[Owned]:
    """Names of many logs, merged together."""
    owner = {name: i for i, name in enumerate(names)}
    for some, p in group.points():
        value, weight, low, high = (column.T.ravel() for column in (p.value, p.weight, p.low, p.high))
        flat = Points(np.tile(p.step, len(some)), np.tile(p.time_ns, len(some)), value, weight, low, high)
        yield np.repeat([owner[name] for name in some], len(p.step)), Summaries.of(flat)


def _of_set(piece: SealedSet, owners: Ints, rows: Ints, count: int) -> Iterator[Owned]:
    points = piece.columns["points"][rows]
    for level in reversed(LEVELS):
        if points.max() >= level * count and (blocks := piece.summaries(level)) is not None:
            sizes = -(-points // level)
            yield np.repeat(owners, sizes), blocks.take(ranges(piece.columns[f"block_{level}"][rows], sizes))
            return
    plain = piece.columns["plain"][rows] & (piece.columns["rows"][rows] == points)
    yield from _by_group(piece, owners[plain], rows[plain])
    for owner, row in zip(owners[~plain].tolist(), rows[~plain].tolist(), strict=True):
        blocks = Summaries.of(piece.points(row))
        yield np.full(len(blocks), owner), blocks


def _by_group(piece: SealedSet, owners: Ints, rows: Ints) -> Iterator[Owned]:
    """Rows of many names, each row group read once however many of them it holds."""
    order = np.argsort(piece.columns["row"][rows])
    owners, lo = owners[order], piece.columns["row"][rows][order]
    hi = lo + piece.columns["rows"][rows][order]
    file = piece.files["metrics.parquet"]
    first, after = np.searchsorted(hi, file.starts[:-1], "right"), np.searchsorted(lo, file.starts[1:], "left")
    for group in np.flatnonzero(first < after).tolist():
        start, stop, here = (
            int(file.starts[group]),
            int(file.starts[group + 1]),
            slice(int(first[group]), int(after[group])),
        )
        if (blocks := piece.plain_summaries(group)) is not None:
            begin, end = np.maximum(lo[here], start) - start, np.minimum(hi[here], stop) - start
            together = bool((begin[1:] == end[:-1]).all())  # then nothing is copied
            yield (
                np.repeat(owners[here], end - begin),
                blocks.take(slice(int(begin[0]), int(end[-1])) if together else ranges(begin, end - begin)),
            )


def _of_tail(tail: Tail, owners: dict[str, int]) -> Iterator[Owned]:
    wide, long = tail.metrics.wide, tail.metrics.long
    alone = {name: own[0][0] for name in owners if name not in long.codes and len(own := wide.unscoped(name)) == 1}
    for shape in wide.shapes.values():
        columns = [(column, owners[name]) for column, name in enumerate(shape.names) if alone.get(name) is shape]
        if columns:
            yield from _of_shape(shape, np.array([c for c, _ in columns]), np.array([o for _, o in columns]))
    for name in owners.keys() - alone.keys():
        rows = tail.metrics.rows(name).unscoped()
        blocks = Summaries.of(Points(rows.step, rows.time_ns, rows.value, rows.weight, rows.value, rows.value))
        yield np.full(len(blocks), owners[name]), blocks


def _of_shape(shape: Shape, columns: Ints, owners: Ints) -> Iterator[Owned]:
    """Every call as a block of its own, names side by side, some names at a time."""
    for piece in shape.calls:
        n = len(piece)
        for at in range(0, len(columns), max(1, AT_ONCE // n)):
            some = columns[at : at + max(1, AT_ONCE // n)]
            value = piece.values[:, some].T.ravel()
            weight = np.full(len(value), np.nan) if piece.weights is None else piece.weights[:, some].T.ravel()
            points = Points(
                np.tile(piece.step, len(some)), np.tile(piece.time_ns, len(some)), value, weight, value, value
            )
            yield np.repeat(owners[at : at + len(some)], n), Summaries.of(points)
