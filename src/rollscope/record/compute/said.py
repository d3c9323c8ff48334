"""What the calls of a step have said so far, row by row: which facts, and who each sample is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .call import Call

Bools = NDArray[np.bool_]


class Said:
    """For each fact or repeated key, the rows that have it; for repeated keys also their marks."""

    def __init__(self) -> None:
        self.total = 0  # rows
        self._has: dict[str, Bools] = {}
        self._marks: dict[str, NDArray[Any]] = {}

    def of(self, path: str) -> Bools:
        """The rows that have a fact."""
        has = self._has.get(path)
        return np.zeros(self.total, bool) if has is None else _sized(has, self.total)[: self.total]

    def _part(self, path: str, start: int, stop: int) -> Bools:
        has = self._has.get(path)
        return np.zeros(stop - start, bool) if has is None else _sized(has, stop)[start:stop]

    def lacks(self, call: Call, start: int, stop: int) -> bool:
        """Whether none of these rows has a fact of the call."""
        return not any(self._part(path, start, stop).any() for path in call.facts)

    def fits(self, call: Call, start: int) -> bool:
        """Whether the call says something new of the rows from here on, and contradicts nothing."""
        stop = min(start + (call.size or 0), self.total)
        if start >= stop or not self.lacks(call, start, stop):
            return False
        news = call.facts or [key for key in call.rows if not self._part(key, start, stop).all()]
        return bool(news) and all(self._agrees(key, mark, start, stop) for key, mark in call.marks().items())

    def _agrees(self, key: str, mark: NDArray[Any], start: int, stop: int) -> bool:
        both = self._part(key, start, stop)
        return not both.any() or bool((self._marks[key][start:stop][both] == mark[: stop - start][both]).all())

    def fill(self, call: Call, rows: NDArray[np.int64]) -> None:
        """Note what a call says of these rows."""
        self.total = max(self.total, int(rows.max()) + 1)
        marks = call.marks()
        for path in (*call.facts, *marks):
            self._has[path] = has = _sized(self._has.get(path, np.zeros(0, bool)), self.total)
            has[rows] = True
        for key, mark in marks.items():
            self._marks[key] = known = _sized(self._marks.get(key, np.zeros(0, object)), self.total)
            known[rows] = mark


def _sized(x: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for `size` values; room doubles, so that growing stays cheap."""
    if len(x) >= size:
        return x
    grown = np.zeros(max(size, 2 * len(x)), x.dtype)
    grown[: len(x)] = x
    return grown
