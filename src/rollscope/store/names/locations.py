"""Where each name of a run lies: its files in the order of their steps.

A name is *simple* if its files follow each other: each has complete points (one attempt, one scope,
already merged), no two share a step, no later attempt took over, and it is not a running total.
Then its last value is the last file's, and its buckets are the files' buckets end to end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rollscope.store.live.tail import Tail
from rollscope.store.numbers import counters
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed.reader import SealedSet

from .of_files import FileNames, Layout, of_set, of_tail

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Location:
    """The files that have a name, in order of their steps, and its row in the names of each."""

    parts: list[tuple[FileNames, int]]
    simple: bool

    @property
    def kind(self) -> str:
        file, i = self.parts[-1]
        return file.kind[i]

    @property
    def rows(self) -> int:
        return sum(int(part.rows[i]) for part, i in self.parts)


class NameLocations:
    """Finds names in the files of a run. A log that grows without new names costs little."""

    def __init__(self) -> None:
        self._sets: list[FileNames] = []
        self._layouts: dict[str, tuple[Tail, Layout]] = {}  # by path
        self._places = _Places([])

    def look(
        self, sets: Collection[SealedSet], tails: Collection[Tail], resumed: Mapping[int, int]
    ) -> dict[str, Location]:
        """Every name, and where it lies now."""
        known, layouts = {id(file.file): file for file in self._sets}, {tail.path: self._layout(tail) for tail in tails}
        self._sets = [known.get(id(sealed)) or of_set(sealed) for sealed in sets]
        self._layouts = {tail.path: (tail, layouts[tail.path]) for tail in tails}
        files = [*self._sets, *(of_tail(tail, layouts[tail.path]) for tail in tails)]
        places = self._places
        if not places.fit(files):
            places = self._places = _Places([file.names for file in files])
        return places.locations(files, resumed)

    def _layout(self, tail: Tail) -> Layout:
        known, layout = self._layouts.get(tail.path, (None, None))
        return layout if layout is not None and known is tail and layout.fits(tail) else Layout.of(tail)


class _Places:
    """Which files have which names: one row for each name of each file, by name."""

    def __init__(self, names: list[list[str]]) -> None:
        self._lists = names
        number: dict[str, int] = {}
        owner = [number.setdefault(name, len(number)) for some in names for name in some]
        self.names = list(number)
        self._order = np.argsort(np.array(owner, np.int64), kind="stable")  # puts the rows of a name together
        self._owner = np.array(owner, np.int64)[self._order]

    def fit(self, files: Sequence[FileNames]) -> bool:
        """True if these files have the very lists of names that this was made from."""
        same = len(files) == len(self._lists)
        return same and all(file.names is names for file, names in zip(files, self._lists, strict=True))

    def locations(self, files: Sequence[FileNames], resumed: Mapping[int, int]) -> dict[str, Location]:
        order, simple = self._by_step(files, resumed)
        rows = [(file, i) for file in files for i in range(len(file.names))]
        parts = [rows[i] for i in order.tolist()]
        bounds = np.searchsorted(self._owner, np.arange(len(self.names) + 1)).tolist()
        lines = zip(self.names, pairwise(bounds), simple.tolist(), strict=True)
        return {name: Location(parts[lo:hi], is_simple) for name, (lo, hi), is_simple in lines}

    def _by_step(self, files: Sequence[FileNames], resumed: Mapping[int, int]) -> tuple[Ints, Mask]:
        """All rows by name, then by first step; and which names are simple."""
        none = np.empty(0, np.int64)
        complete = np.concatenate([none, *(_is_complete(file, resumed) for file in files)]).astype(bool)
        lo, hi = (np.concatenate([none, *some]) for some in ([f.lo for f in files], [f.hi for f in files]))
        order = self._order[np.lexsort((lo[self._order], self._owner))]
        simple = np.ones(len(self.names), bool)
        simple[self._owner[~complete[order]]] = False
        next_begins = (hi[order][:-1] >= lo[order][1:]) & (self._owner[1:] == self._owner[:-1])
        simple[self._owner[1:][next_begins]] = False
        return order, simple


def _is_complete(file: FileNames, resumed: Mapping[int, int]) -> Mask:
    """Names whose points need no rows of other files, and that no later attempt took over."""
    keep: Mask = file.complete & np.array([kind != counters.KIND for kind in file.kind], bool)
    for newer, first in resumed.items():
        keep &= (file.attempt >= newer) | (file.hi < first)
    return keep
