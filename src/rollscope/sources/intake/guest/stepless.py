"""Rows that are left out because they name no step: how many there are of each file.

A file is read in parts, and on as it grows. What is said of it is the number of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.sources import Skipped

SAYS = "{} left out: the step is missing or not a whole number. Importing the file without --into keeps them"
Row = Mapping[str, Any]


class Stepless:
    def __init__(self) -> None:
        self._counts: Counter[Path] = Counter()
        self._since_mark: Counter[Path] = Counter()  # of rows that a file gives once more if reading it fails

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
        count = self._counts[path] + self._since_mark[path]
        if count:
            yield Skipped(SAYS.format("1 row is" if count == 1 else f"{count:,} rows are"), path)


def _is_stepless(row: Row) -> bool:
    return "step" not in row and (row.get("prompt") is not None or row.get("completion") is not None)
