"""Which names may have NaN or infinity: found without merging, so that few series are read.

Finite rows merge into finite points, so a name without such a row needs no further look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Calls
from rollscope.store.numbers.rows import Ints, Rows
from rollscope.store.sealed.reader import SealedSet

from . import grid, same_shape


class SeenSets:
    """Names with NaN or infinity in the sets of a run. A sealed set is looked at once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}  # of each set, by path

    def with_any(self, folder: Folder) -> Iterator[str]:
        """All names of the run with a row that is NaN or infinite."""
        alone = one_by_one(folder)
        seen = self._names
        self._names = {one.path: seen[one.path] if one.path in seen else _in_set(one) for one in folder.sets}
        found = set().union(*self._names.values(), *map(_in_log, folder.tails.values()))
        yield from found.difference(alone)
        yield from with_any(folder, alone)


def one_by_one(folder: Folder) -> list[str]:
    """The names whose rows are merged for each name alone, which takes long."""
    several = [name for name, location in folder.locations().items() if not location.simple]
    shared = {name for group in same_shape.groups(folder, several) for name in group.names}
    return [name for name in several if name not in shared]


def with_any(folder: Folder, names: Collection[str]) -> Iterator[str]:
    """Those of some names that have a row that is NaN or infinite."""
    left = set(names)
    for name, rows in folder.rows_together(names):
        left.discard(name)
        if _has_any(rows):
            yield name
    yield from (name for name in sorted(left) if _has_any(folder.rows(name)))


def _has_any(rows: Rows) -> bool:
    """A row of weight 0 is no data, so its NaN is not counted."""
    return bool((~np.isfinite(rows.value) & (rows.weight != 0)).any())


def _in_set(sealed: SealedSet) -> frozenset[str]:
    """Of the names whose points are complete in a set."""
    whole = np.flatnonzero(sealed.columns["whole"]) if sealed.names else np.empty(0, np.int64)
    found: set[int] = set()
    for owner, some in grid.of_set(sealed, whole, whole, 1) if len(whole) else ():
        found.update(owner[(some.nan + some.posinf + some.neginf) > 0].tolist())
    return frozenset(name for i, name in enumerate(sealed.names) if i in found)


def _in_log(tail: Tail) -> set[str]:
    codes, rows, _ = tail.metrics.long.everything()
    bad = set(codes[~np.isfinite(rows.value) & (rows.weight != 0)].tolist())
    found = {name for name, code in tail.metrics.long.codes.items() if code in bad}
    for shape in tail.metrics.wide.shapes.values():
        found.update(shape.names[i] for calls in shape.calls for i in _in_calls(calls).tolist())
    return found


def _in_calls(calls: Calls) -> Ints:
    """The columns of some calls that have NaN or infinity where there is any data."""
    columns: Ints = np.flatnonzero(~np.isfinite(calls.values).all(axis=0))
    if calls.weights is None or not len(columns):
        return columns
    bad = ~np.isfinite(calls.values[:, columns]) & (calls.weights[:, columns] != 0)
    return np.asarray(columns[bad.any(axis=0)])
