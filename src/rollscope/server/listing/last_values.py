"""The last value of every metric of every run, for columns of the list of runs.

The values of a run that is over are kept in the index beside the runs until something in its folder
changes. In memory, runs that log the same names share one list of them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import RollscopeError
from rollscope.server.library import Library
from rollscope.store.listing.entries import Entry, Marks
from rollscope.store.listing.index import Index
from rollscope.store.listing.records import index_row
from rollscope.store.run import Run
from rollscope.strict_json import Number, number
from rollscope.views.no_value import last_known

MOST_NAMES = 2000  # of a run
PATIENCE = 1.0  # seconds after which an answer leaves the other runs for the next one
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Values:
    marks: Marks  # of the run's folder; empty for a run that may still grow
    names: Names
    last: NDArray[np.float64]
    empty: NDArray[np.bool_]  # where the last step has no data: NaN that was not logged


class LastValues:
    """Several requests may ask at once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: dict[str, Values] = {}
        self._names: dict[Names, Names] = {}
        self._index: Index | None = None
        self._lock = threading.RLock()

    def names(self) -> tuple[dict[str, int], int]:
        """Every name with the number of runs that log it, and how many runs are not read yet."""
        values, pending = self._all()
        counts: dict[str, int] = {}
        for one in values.values():
            for name in one.names:
                counts[name] = counts.get(name, 0) + 1
        return counts, pending

    def of(self, names: list[str]) -> tuple[dict[str, dict[str, Number]], int]:
        """Name -> run -> the last value, and how many runs are still to be read."""
        values, pending = self._all()
        places: dict[Names, dict[str, int]] = {}
        found: dict[str, dict[str, Number]] = {name: {} for name in names}
        for id, one in values.items():
            if one.names not in places:
                places[one.names] = _places(one.names)
            place = places[one.names]
            for name in names:
                if name in place:
                    at = place[name]
                    found[name][id] = None if one.empty[at] else number(one.last[at])
        return found, pending

    def _all(self) -> tuple[dict[str, Values], int]:
        """The values of every run that is known within a second, newest first."""
        values: dict[str, Values] = {}
        began, pending = time.monotonic(), 0
        for entry in sorted(self.library.entries(), key=lambda entry: entry.marks, reverse=True):
            known = self._known(entry)
            if known is None and time.monotonic() - began > PATIENCE:
                pending += 1
                continue
            one = known or self._read(entry)
            if one is not None:
                values[entry.id] = one
        with self._lock:
            self._rows().save()
        return values, pending

    def _known(self, entry: Entry) -> Values | None:
        kept = self._kept.get(entry.id)
        if kept is not None and kept.marks == entry.marks:
            return kept
        with self._lock:
            row = self._rows().get(entry)
        if row is None or not _is_values(row.value):
            return None
        return self._keep(entry.id, entry.marks, row.value["names"], row.value["last"])

    def _read(self, entry: Entry) -> Values | None:
        try:
            with self.library.reading(entry.id) as run:
                names, last = run.remember("last", lambda: _last(run))
                row = index_row(entry, run, {"state": run.state, "names": names, "last": [number(v) for v in last]})
        except (RollscopeError, OSError):
            return None
        if row is None:
            return self._keep(entry.id, (), names, last)
        with self._lock:
            self._rows().add(entry, row)
        return self._keep(entry.id, entry.marks, names, last)

    def _keep(self, id: str, marks: Marks, names: list[str], last: Any) -> Values:
        shared = self._names.setdefault(tuple(names), tuple(names))
        numbers = np.array([np.nan if value is None else float(value) for value in last])
        empty = np.array([value is None for value in last], bool)
        kept = self._kept[id] = Values(marks, shared, numbers, empty)
        return kept

    def _rows(self) -> Index:
        if self._index is None:
            self._index = Index(self.library.path, "values")
        return self._index


def _places(names: Names) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def _last(run: Run) -> tuple[list[str], list[float | None]]:
    """Names and last values of a run, at most so many."""
    return run.metrics()["name"][:MOST_NAMES].tolist(), last_known(run)[:MOST_NAMES].tolist()


def _is_values(value: Any) -> bool:
    """True if a value that was stored is names and numbers: the file may hold anything."""
    names, last = value.get("names"), value.get("last")
    if not isinstance(names, list) or not isinstance(last, list) or len(names) != len(last):
        return False
    words = ("NaN", "Infinity", "-Infinity", None)
    return all(isinstance(name, str) for name in names) and all(
        v in words if isinstance(v, str) or v is None else isinstance(v, int | float) for v in last
    )
