"""Which calls of a step speak of the same samples: docs/recording.md states the rule.

An `Alignment` gives every sample of a step a row number and every call the rows it speaks of. The
samples that are in the same calls are one `Unit`, whose facts are joined and computed together.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .call import Call
from .said import Said
from .unit import Rows, Unit


class Alignment:
    """The calls of a step that have samples, in the order in which they came."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._placed: list[tuple[Call, Rows]] = []
        self._certain: set[Call] = set()  # calls placed by ids, or that gave the first ids of their rows
        self._said = Said()
        self._edges = [0]  # row numbers where calls begin or end, ascending
        self._of_id: dict[Any, list[int]] = {}
        self._next: dict[frozenset[str], int] = {}  # facts -> where the search for their next place begins
        for call in calls:
            self.add(call)

    def add(self, call: Call) -> None:
        ids = call.marks().get("sample")
        if ids is not None and any(word in self._of_id for word in ids):
            rows = self._rows_of_ids(call, ids)
            self._certain.add(call)
        else:
            rows = self._rows_in_order(call)
            if ids is not None and len(rows) and rows[0] == self._said.total:
                self._certain.add(call)
        if len(rows):
            self._take(call, rows)
        self._placed.append((call, rows))

    def _take(self, call: Call, rows: Rows) -> None:
        self._mark_edges(self._said.total, int(rows.max()) + 1)
        self._said.fill(call, rows)
        for word, row in zip(call.marks().get("sample", ()), rows.tolist(), strict=False):
            if row not in self._of_id.setdefault(word, []):
                self._of_id[word].append(row)

    def _rows_of_ids(self, call: Call, ids: NDArray[Any]) -> Rows:
        """The row of each id that lacks these facts, or a new row."""
        new, rows, used = self._said.total, [], set()
        for word in ids:
            known = (row for row in self._of_id.get(word, ()) if row not in used)
            row = next((row for row in known if self._said.lacks(call, row, row + 1)), None)
            if row is None:
                row, new = new, new + 1
            used.add(row)
            rows.append(row)
        return np.array(rows, np.int64)

    def _rows_in_order(self, call: Call) -> Rows:
        """The first rows whose samples lack these facts, best where whole earlier calls lie."""
        size, begin = call.size or 0, self._next.get(call.facts, 0)
        starts = self._edges[bisect_left(self._edges, begin) :]
        exact = (start for start in starts if self._is_edge(start + size) and self._said.fits(call, start))
        begun = (start for start in starts if self._said.fits(call, start))
        start = next(exact, None)
        start = next(begun, self._said.total) if start is None else start
        self._mark_edges(start, start + size)
        if call.facts and start == begin:
            self._next[call.facts] = start + size
        return np.arange(start, start + size)

    def _is_edge(self, row: int) -> bool:
        place = bisect_left(self._edges, row)
        return place < len(self._edges) and self._edges[place] == row

    def _mark_edges(self, *rows: int) -> None:
        for row in rows:
            if not self._is_edge(row):
                insort(self._edges, row)

    # units

    def units(self) -> list[Unit]:
        """The samples by the calls they are in; those that cannot be told from others come last."""
        apart = self._without_known_places()
        if not apart:
            return list(self._units())
        units = Alignment(call for call, _ in self._placed if call not in apart).units()
        for unit in Alignment(call for call, _ in self._placed if call in apart).units():
            unit.within = True
            units.append(unit)
        return units

    def _without_known_places(self) -> set[Call]:
        """Calls placed by order that cut another call unevenly: it is not known which samples."""
        by_order = [(call, rows) for call, rows in self._placed if call not in self._certain]
        facts = self._signatures((call.facts, rows) for call, rows in by_order)
        cut = [rows for _, rows in self._placed if len(rows) and (facts[rows] != facts[rows[0]]).any()]
        if not cut:
            return set()
        part = np.zeros(self._said.total, bool)
        part[np.concatenate(cut)] = True
        inside = [(call, rows) for call, rows in by_order if part[rows].any()]
        stay = [call for call, _ in inside if all(self._said.of(path)[part].all() for path in call.facts)]
        if not stay and len(inside) == len(self._placed):
            stay = [max(inside, key=lambda pair: len(pair[1]))[0]]
        return {call for call, _ in inside if call not in stay}

    def _signatures(self, words: Iterable[tuple[Iterable[Any], Rows]]) -> NDArray[np.uint64]:
        """A number for each row that is the same for rows with the same words."""
        dice = np.random.default_rng(0)
        numbers: dict[Any, np.uint64] = {}
        signatures = np.zeros(self._said.total, np.uint64)
        for group, rows in words:
            for word in group:
                if word not in numbers:
                    numbers[word] = dice.integers(1, 2**63, dtype=np.uint64)
                signatures[rows] ^= numbers[word]
        return signatures

    def _units(self) -> Iterator[Unit]:
        signatures = self._signatures(([i], rows) for i, (_, rows) in enumerate(self._placed))
        _, first, of = np.unique(signatures, return_index=True, return_inverse=True)
        units: dict[int, Unit] = {}
        orders: dict[int, Rows] = {}  # the rows of a unit in the order of its first call
        for call, rows in self._placed:
            if not len(rows):
                yield Unit([call], [rows])
            for number in np.unique(of[rows]).tolist():
                places = np.flatnonzero(of[rows] == number)
                unit = units.setdefault(number, Unit([], []))
                order = orders.setdefault(number, rows[places])
                unit.calls.append(call)
                unit.index.append(places[np.argsort(rows[places])][np.argsort(np.argsort(order))])
        yield from (units[number] for number in np.argsort(first).tolist() if number in units)
