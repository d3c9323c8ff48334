"""The list of a run's names: kind, unit, number of rows, and the last value with its step and time.

Most lines come from the name index alone; a name that several logs share is merged first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store.folder import Folder
from rollscope.store.names.locations import Location
from rollscope.store.numbers.merge import Points
from rollscope.store.numbers.rows import Rows

from . import metric_series, same_shape


class Line(NamedTuple):
    kind: str
    rows: int
    last: float
    step: int
    time_ns: int


def columns(folder: Folder, derived: Mapping[str, Points], unit: Callable[[str], str]) -> dict[str, NDArray[Any]]:
    """Every stored and derived name in order, as columns."""
    stored = folder.locations()
    names = sorted(stored.keys() | derived.keys())
    shared = _of_shared(folder, [name for name in names if name in stored and not stored[name].simple])
    known = shared | _of_neighbours(
        folder, [n for n in names if n in stored and not stored[n].simple and n not in shared]
    )
    lines = [
        known.get(name) or (_of_stored(folder, name, stored[name]) if name in stored else _of_points(derived[name]))
        for name in names
    ]
    kinds, rows, lasts, steps, times = list(zip(*lines, strict=True)) or [()] * 5
    return {
        "name": np.array(names, object),
        "kind": np.array(kinds, object),
        "unit": np.array([unit(name) for name in names], object),
        "count": np.array(rows, np.int64),
        "last": np.array(lasts, np.float64),
        "step": np.array(steps, np.int64),
        "time_ns": np.array(times, np.int64),
    }


def _of_shared(folder: Folder, names: list[str]) -> dict[str, Line]:
    """Names that many processes log in the same calls, merged together."""
    lines, stored = {}, folder.locations()
    for group in same_shape.groups(folder, names):
        newest = max(int(shape.calls[-1].step[-1]) for shape in group.shapes)
        for some, points in group.points(since=newest):
            step, time_ns = int(points.step[-1]), int(points.time_ns[-1])
            for i, name in enumerate(some):
                lines[name] = Line(group.kind, stored[name].rows, float(points.value[-1, i]), step, time_ns)
    return lines


def _of_neighbours(folder: Folder, names: list[str]) -> dict[str, Line]:
    """Names that lie together in a sealed set, read together."""
    stored = folder.locations()
    return {name: _of_stored(folder, name, stored[name], rows) for name, rows in folder.rows_together(names)}


def _of_stored(folder: Folder, name: str, location: Location, rows: Rows | None = None) -> Line:
    part, i = location.parts[-1]
    if location.simple:
        return Line(part.kind[i], location.rows, float(part.last[i]), int(part.hi[i]), int(part.time_ns[i]))
    try:
        line = _of_points(metric_series.points(folder, name, last=True, rows=rows))
    except BadInput:  # of a kind that only a newer version can add: it is listed without a value
        line = Line("", 0, np.nan, int(part.hi[i]), int(part.time_ns[i]))
    return line._replace(kind=part.kind[i], rows=location.rows)


def _of_points(points: Points) -> Line:
    """The line of a derived series."""
    if not len(points):
        return Line("view", 0, np.nan, -1, -1)
    return Line("view", len(points), float(points.value[-1]), int(points.step[-1]), int(points.time_ns[-1]))
