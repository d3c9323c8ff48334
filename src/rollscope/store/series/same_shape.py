"""Names that many processes log in the same calls, merged together: 64 ranks, not sealed yet.

Names in the same calls of the same logs share their steps, so the rows of a step are found once for
all of them. Names that need more care (a writer repeats a step, several attempts or scopes,
partials of varying length) are left to `merge.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Calls, Shape
from rollscope.store.names.locations import Location
from rollscope.store.numbers.merge import PLAIN, Points
from rollscope.store.numbers.partial_sums import VECTOR
from rollscope.store.numbers.rows import Floats, Ints, stretch_starts

AT_ONCE = 400_000  # values
ONE_BY_ONE = {"counter"}  # its total continues from the step before


@dataclass(slots=True)
class Selection:
    """Rows of some calls."""

    shape: int  # which shape of the group
    calls: Calls
    rows: Ints


@dataclass(slots=True)
class Timeline:
    """The steps that all names of a group share, and where the rows of each lie."""

    selections: list[Selection]
    order: Ints  # sorts the rows of all selections by step
    starts: Ints  # of each step among the sorted rows
    step: Ints
    time_ns: Ints

    def sorted(self, parts: list[Floats]) -> Floats:
        """One array per selection, joined and sorted by step."""
        return np.concatenate(parts)[self.order]


@dataclass(slots=True)
class SharedNames:
    """Names of one kind in the same shapes, each shape in a log of its own."""

    kind: str
    shapes: list[Shape]
    names: list[str]
    columns: list[list[int]]  # of each name, its column in each shape

    def points(self, since: int | None = None) -> Iterator[tuple[list[str], Points]]:
        """Some names at a time, and their points as matrices of steps by names.

        With `since`, only that step and later ones.
        """
        timeline = self._timeline(since)
        if self.kind not in PLAIN:
            for name, columns in zip(self.names, self.columns, strict=True):
                yield [name], _added(self.kind, timeline, columns)
            return
        width = max(1, AT_ONCE // max(len(timeline.order), 1))
        for at in range(0, len(self.names), width):
            yield self.names[at : at + width], _average(timeline, np.array(self.columns[at : at + width]))

    def _timeline(self, since: int | None) -> Timeline:
        selections = []
        for i, shape in enumerate(self.shapes):
            for calls in shape.calls:
                rows = np.arange(len(calls)) if since is None else np.flatnonzero(calls.step >= since)
                selections.append(Selection(i, calls, rows))
        steps = np.concatenate([s.calls.step[s.rows] for s in selections])
        order = np.argsort(steps, kind="stable")
        starts = stretch_starts(steps[order])
        times = np.concatenate([s.calls.time_ns[s.rows] for s in selections])[order]
        time_ns = np.maximum.reduceat(times, starts) if len(starts) else times
        return Timeline(selections, order, starts, steps[order][starts], time_ns)


def _average(timeline: Timeline, columns: Ints) -> Points:
    """Plain numbers average over writers, and keep the lowest and the highest."""
    starts = timeline.starts
    x = timeline.sorted([s.calls.values[s.rows][:, columns[:, s.shape]] for s in timeline.selections])
    many = np.diff([*starts, len(x)])[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is a NaN that was logged
        mean = np.where(many > 1, np.add.reduceat(x, starts, axis=0) / many, x[starts])
    low, high = np.fmin.reduceat(x, starts, axis=0), np.fmax.reduceat(x, starts, axis=0)
    return Points(timeline.step, timeline.time_ns, mean, np.full(mean.shape, np.nan), low, high)


def _added(kind: str, timeline: Timeline, columns: list[int]) -> Points:
    """Partials of a kind add. A step with a single one keeps its value as it was written."""
    value, weight, state = (
        timeline.sorted([read(s.calls, columns[s.shape])[s.rows] for s in timeline.selections])
        for read in (_values, _weights, _states)
    )
    starts = timeline.starts
    added, weights = VECTOR[kind](state, starts)
    many = np.diff([*starts, len(value)]) > 1
    merged = np.where(many, added, value[starts])[:, None]
    weights = np.where(many, weights, weight[starts])[:, None]
    return Points(timeline.step, timeline.time_ns, merged, weights, merged, merged)


def _values(calls: Calls, column: int) -> Floats:
    return calls.values[:, column]


def _weights(calls: Calls, column: int) -> Floats:
    assert calls.weights is not None
    return calls.weights[:, column]


def _states(calls: Calls, column: int) -> Floats:
    """The states of a column, rows by states; each row has equally many."""
    assert calls.lengths is not None and calls.states is not None
    ends = np.cumsum(calls.lengths[0].astype(np.int64))
    rows = calls.states.reshape(len(calls), -1)
    return rows[:, ends[column] - calls.lengths[0, column] : ends[column]]


def groups(folder: Folder, names: Sequence[str]) -> list[SharedNames]:
    """Names that can be merged together. Names in no group need `merge.py`."""
    if folder.resumed:
        return []
    by_shapes: dict[tuple[object, ...], SharedNames] = {}
    fits: dict[int, bool] = {}
    stored = folder.locations()
    for name in names:
        columns = _columns(stored[name], name)
        if columns is None:
            continue
        shapes = [shape for shape, _ in columns]
        for shape in shapes:
            if id(shape) not in fits:
                fits[id(shape)] = _fits(shape)
        if all(fits[id(shape)] for shape in shapes):
            kind = shapes[0].kinds[columns[0][1]]
            group = by_shapes.setdefault((kind, *map(id, shapes)), SharedNames(kind, shapes, [], []))
            group.names.append(name)
            group.columns.append([column for _, column in columns])
    return [group for group in by_shapes.values() if group.kind in PLAIN or group.kind in VECTOR.keys() - ONE_BY_ONE]


def _columns(location: Location, name: str) -> list[tuple[Shape, int]] | None:
    """The shape of a name in each of its logs; None if it has no single one, or they differ."""
    columns = []
    for part, _ in location.parts:
        own = part.file.metrics.wide.unscoped(name) if isinstance(part.file, Tail) else []
        if len(own) != 1 or (isinstance(part.file, Tail) and name in part.file.metrics.long.codes):
            return None
        columns.append(own[0])
    alike = {(shape.kinds[column], shape.labels.attempt) for shape, column in columns}
    return columns if len(alike) == 1 else None


def _fits(shape: Shape) -> bool:
    """True if the steps rise, the scope is the whole run, and all rows have equally long states."""
    alike = all(calls.lengths is None or (calls.lengths == calls.lengths[0]).all() for calls in shape.calls)
    return shape.rises() and alike and not shape.scope
