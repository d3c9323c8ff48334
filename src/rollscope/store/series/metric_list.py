"""The list of a run's names: kind, unit, number of rows, and the last value with its step and time.

Most entries come from the name index alone; a name that several logs share is merged first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollscope.store.folder import Folder
from rollscope.store.name_index import Location
from rollscope.store.numbers.merge import Points

from . import metric_series, same_shape


class Last(NamedTuple):
    """One line of the list."""

    kind: str
    rows: int
    value: float
    step: int
    time_ns: int


def columns(folder: Folder, derived: Mapping[str, Points], unit: Callable[[str], str]) -> dict[str, NDArray[Any]]:
    """Every stored and derived name in order, as columns."""
    places = folder.locations()
    names = sorted(places.keys() | derived.keys())
    shared = _of_shared(folder, [name for name in names if name in places and not places[name].simple])
    lines = [
        shared.get(name) or (_of_stored(folder, name, places[name]) if name in places else _of_points(derived[name]))
        for name in names
    ]
    kinds, rows, values, steps, times = list(zip(*lines, strict=True)) or [()] * 5
    return {
        "name": np.array(names, object),
        "kind": np.array(kinds, object),
        "unit": np.array([unit(name) for name in names], object),
        "count": np.array(rows, np.int64),
        "last": np.array(values, np.float64),
        "step": np.array(steps, np.int64),
        "time_ns": np.array(times, np.int64),
    }


def _of_shared(folder: Folder, names: list[str]) -> dict[str, Last]:
    """Names that many processes log in the same calls, merged together."""
    lines, places = {}, folder.locations()
    for group in same_shape.groups(folder, names):
        newest = max(int(shape.calls[-1].step[-1]) for shape in group.shapes)
        for some, points in group.points(since=newest):
            step, time_ns = int(points.step[-1]), int(points.time_ns[-1])
            for i, name in enumerate(some):
                lines[name] = Last(group.kind, _rows(places[name]), float(points.value[-1, i]), step, time_ns)
    return lines


def _of_stored(folder: Folder, name: str, place: Location) -> Last:
    part, i = place.parts[-1]
    if place.simple:
        return Last(part.kind[i], _rows(place), float(part.last[i]), int(part.hi[i]), int(part.time_ns[i]))
    points = metric_series.points(folder, name, last=True)
    return _of_points(points)._replace(kind=part.kind[i], rows=_rows(place))


def _of_points(points: Points) -> Last:
    """The line of a derived series."""
    if not len(points):
        return Last("view", 0, np.nan, -1, -1)
    return Last("view", len(points), float(points.value[-1]), int(points.step[-1]), int(points.time_ns[-1]))


def _rows(place: Location) -> int:
    return sum(int(part.rows[i]) for part, i in place.parts)
