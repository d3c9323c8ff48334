"""Rows that are left out because they name no step: how many there are of each file.

A file is read in parts, and on as it grows. What is said of it is the number of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.sources import Skipped

SAYS = "{} left out: the step is missing or not a whole number. Importing the file without --into keeps them"
Row = Mapping[str, Any]


class Stepless:
    def __init__(self) -> None:
        self._counts: Counter[Path] = Counter()
        self._since_mark: Counter[Path] = Counter()  # of rows that a file gives once more if reading it fails
        self._told: Counter[Path] = Counter()  # how many were said of a file that is followed

    def without(self, rows: Sequence[Row], path: Path) -> Sequence[Row]:
        """The rollouts that name a step. A row without words adds to one that does."""
        placed = [row for row in rows if not _is_stepless(row)]
        self._since_mark[path] += len(rows) - len(placed)
        return placed

    def begin(self, path: Path) -> None:
        """The file is read on from its last mark."""
        self._since_mark.pop(path, None)

    def mark(self, path: Path) -> None:
        self._counts[path] += self._since_mark.pop(path, 0)

    def forget(self, path: Path) -> None:
        """The file is read from its start."""
        self._counts.pop(path, None)

    def said(self, path: Path) -> Iterator[Skipped]:
        if count := self._count(path):
            yield Skipped(SAYS.format("1 row is" if count == 1 else f"{count:,} rows are"), path)

    def news(self, faults: Iterable[Skipped]) -> Iterator[Skipped]:
        """What to say of followed files. Of one that grows, it is said again at twice as many."""
        for fault in faults:
            if fault in self.said(fault.path):
                if self._count(fault.path) < 2 * self._told[fault.path]:
                    continue
                self._told[fault.path] = self._count(fault.path)
            yield fault

    def rest(self) -> Iterator[Skipped]:
        """What is not said yet when following ends."""
        for path, told in self._told.items():
            if self._count(path) > told:
                yield from self.said(path)

    def _count(self, path: Path) -> int:
        return self._counts[path] + self._since_mark[path]


def _is_stepless(row: Row) -> bool:
    return "step" not in row and (row.get("prompt") is not None or row.get("completion") is not None)
