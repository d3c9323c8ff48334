"""Which calls of a step speak of the same samples: docs/recording.md states the rule.

`align` gives every sample of a step a row number and every call the rows it speaks of. The samples
that are in the same calls are one `Unit`, whose facts are joined and computed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .call import Call
from .unit import Rows, Unit


def align(calls: Sequence[Call]) -> list[Unit]:
    """The units of a step, from its calls that have samples, in the order in which they came."""
    step = _Rows()
    for call in calls:
        step.place(call)
    apart = step.without_known_places()
    if not apart:
        return step.units()
    units = align([call for call in calls if call not in apart])
    for unit in align([call for call in calls if call in apart]):
        unit.within = True
        units.append(unit)
    return units


class _Rows:
    """The samples of a step by row number, and what the calls so far have said of each."""

    def __init__(self) -> None:
        self.total = 0
        self.placed: list[tuple[Call, Rows]] = []
        self.by_id: set[Call] = set()  # calls placed by ids: which samples they speak of is certain
        self._edges = {0}  # row numbers where calls begin or end
        self._said: dict[str, NDArray[np.bool_]] = {}  # fact or repeated key -> rows that have it
        self._marks: dict[str, NDArray[Any]] = {}
        self._of_id: dict[Any, list[int]] = {}
        self._next: dict[frozenset[str], int] = {}  # facts -> where the search for their next place begins

    def place(self, call: Call) -> None:
        ids = call.marks().get("sample")
        if ids is not None and any(word in self._of_id for word in ids):
            rows = self._rows_of_ids(call, ids)
            self.by_id.add(call)
        else:
            rows = self._rows_in_order(call)
            if ids is not None and len(rows) and rows[0] == self.total:
                self.by_id.add(call)
        self._grow(int(rows.max()) + 1 if len(rows) else 0)
        self._fill(call, rows)
        self.placed.append((call, rows))

    def _rows_of_ids(self, call: Call, ids: NDArray[Any]) -> Rows:
        """The row of each id that lacks these facts, or a new row."""
        new, rows, used = self.total, [], set()
        for word in ids:
            free = (row for row in self._of_id.get(word, ()) if row not in used and self._lacks(call, row, row + 1))
            row = next(free, None)
            if row is None:
                row, new = new, new + 1
            used.add(row)
            rows.append(row)
        return np.array(rows, np.int64)

    def _rows_in_order(self, call: Call) -> Rows:
        """The first rows whose samples lack these facts, best where whole earlier calls lie."""
        size = call.size or 0
        starts = [start for start in sorted(self._edges) if start >= self._next.get(call.facts, 0)]
        exact = (start for start in starts if start + size in self._edges and self._fits(call, start))
        begun = (start for start in starts if start < self.total and self._fits(call, start))
        start = next(exact, None)
        start = next(begun, self.total) if start is None else start
        self._edges |= {start, start + size}
        if call.facts and start == self._next.get(call.facts, 0):
            self._next[call.facts] = start + size
        return np.arange(start, start + size)

    def _fits(self, call: Call, start: int) -> bool:
        stop = min(start + (call.size or 0), self.total)
        if start >= stop or not self._lacks(call, start, stop):
            return False
        news = call.facts or [key for key in call.rows if not self._has(key, start, stop).all()]
        return bool(news) and all(self._agrees(key, mark, start, stop) for key, mark in call.marks().items())

    def _has(self, path: str, start: int, stop: int) -> NDArray[np.bool_]:
        said = self._said.get(path)
        return np.zeros(stop - start, bool) if said is None else said[start:stop]

    def _lacks(self, call: Call, start: int, stop: int) -> bool:
        return not any(self._has(path, start, stop).any() for path in call.facts)

    def _agrees(self, key: str, mark: NDArray[Any], start: int, stop: int) -> bool:
        both = self._has(key, start, stop)
        return not both.any() or bool((self._marks[key][start:stop][both] == mark[: stop - start][both]).all())

    def _grow(self, total: int) -> None:
        if total <= self.total:
            return
        more = total - self.total
        self._said = {path: np.append(said, np.zeros(more, bool)) for path, said in self._said.items()}
        self._marks = {key: np.append(marks, np.full(more, None, object)) for key, marks in self._marks.items()}
        self._edges |= {self.total, total}
        self.total = total

    def _fill(self, call: Call, rows: Rows) -> None:
        for path in call.facts:
            self._said.setdefault(path, np.zeros(self.total, bool))[rows] = True
        for key, mark in call.marks().items():
            self._said.setdefault(key, np.zeros(self.total, bool))[rows] = True
            self._marks.setdefault(key, np.full(self.total, None, object))[rows] = mark
        for word, row in zip(call.marks().get("sample", ()), rows.tolist(), strict=False):
            if row not in self._of_id.setdefault(word, []):
                self._of_id[word].append(row)

    # units

    def _signatures(self, words: Iterable[tuple[Iterable[Any], Rows]]) -> NDArray[np.uint64]:
        """A number for each row that is the same for rows with the same words."""
        dice = np.random.default_rng(0)
        numbers: dict[Any, np.uint64] = {}
        signatures = np.zeros(self.total, np.uint64)
        for group, rows in words:
            for word in group:
                signatures[rows] ^= numbers.setdefault(word, dice.integers(1, 2**63, dtype=np.uint64))
        return signatures

    def without_known_places(self) -> set[Call]:
        """Calls placed by order that cut another call unevenly: of some samples, not known which."""
        by_order = [(call, rows) for call, rows in self.placed if call not in self.by_id]
        facts = self._signatures((call.facts, rows) for call, rows in by_order)
        cut = [rows for _, rows in self.placed if len(rows) and (facts[rows] != facts[rows[0]]).any()]
        if not cut:
            return set()
        part = np.zeros(self.total, bool)
        part[np.concatenate(cut)] = True
        inside = [(call, rows) for call, rows in by_order if part[rows].any()]
        stay = [call for call, _ in inside if all(self._said[path][part].all() for path in call.facts)]
        if not stay and len(inside) == len(self.placed):
            stay = [max(inside, key=lambda pair: len(pair[1]))[0]]
        return {call for call, _ in inside if call not in stay}

    def units(self) -> list[Unit]:
        signatures = self._signatures(([i], rows) for i, (_, rows) in enumerate(self.placed))
        _, first, of = np.unique(signatures, return_index=True, return_inverse=True)
        units = [Unit([call], [rows]) for call, rows in self.placed if not len(rows)]
        for number in np.argsort(first):
            inside = [(call, np.flatnonzero(of[rows] == number)) for call, rows in self.placed]
            held = [(call, index) for call, index in inside if len(index)]
            if held:
                units.append(_ordered(held, self.placed))
        return units


def _ordered(held: list[tuple[Call, Rows]], placed: list[tuple[Call, Rows]]) -> Unit:
    """A unit whose samples stand in the order of its first call."""
    rows_of = {id(call): rows for call, rows in placed}
    order = rows_of[id(held[0][0])][held[0][1]]
    index = []
    for call, places in held:
        rows = rows_of[id(call)][places]
        index.append(places[np.argsort(rows)][np.argsort(np.argsort(order))])
    return Unit([call for call, _ in held], index)
