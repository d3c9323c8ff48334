"""Rows that wait to be written: numbers packed, other rows as they are, until they become blocks.

While the disk takes no blocks, this is the spool. Over its bound it gives up host samples first,
then spans, then token arrays, then text. Numbers stay: the queue refuses new ones only at four
times the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rollscope.record.loss import Losses
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS

from .encode import BLOCK, Metrics
from .table_blocks import TableEncoder

ORDER = ("runs", "notes", "steps", "evals", "findings", "samples", "turns", "spans", "host")
MOST_ROWS = 4096  # in a block
_LONG_TEXT = TURN_TEXT_COLUMNS | TEXT_COLUMNS
WHY = "memory was full while the store could not be written"


class Backlog:
    """Rows by table, and how many bytes they hold."""

    def __init__(self, losses: Losses, bound: int, attempt: int) -> None:
        self.metrics = Metrics(losses)
        self._rows: dict[str, list[dict[str, Any]]] = {table: [] for table in ORDER}
        self._sizes: dict[str, list[int]] = {table: [] for table in ORDER}  # bytes of each row
        self._losses = losses
        self._bound = bound
        self._tables = TableEncoder({"attempt": attempt}, losses)

    def add(self, table: str, rows: list[dict[str, Any]]) -> int:
        """Keep rows. Returns about how many bytes they hold."""
        sizes = [*map(size, rows)]
        self._rows[table] += rows
        self._sizes[table] += sizes
        return sum(sizes)

    @property
    def held(self) -> int:
        """Bytes of all rows that wait."""
        return sum(map(sum, self._sizes.values())) + self.metrics.held

    def blocks(self) -> Iterator[bytes]:
        """Blocks to write. The rows of a block are dropped only when the next block is taken."""
        yield from self.metrics.blocks()
        for table in ORDER:
            while rows := self._rows[table]:
                count = _rows_of_block(self._sizes[table])
                payload, count = self._tables.block(table, rows, count)
                if payload is not None:
                    yield payload
                del rows[:count]
                del self._sizes[table][:count]

    def shrink(self) -> None:
        """Give up rows and columns, in order, until the rest fits the bound."""
        for table, what in (("host", "host samples"), ("spans", "spans")):
            if self.held > self._bound and self._rows[table]:
                self._losses.count(what, WHY, len(self._rows[table]))
                self._rows[table], self._sizes[table] = [], []
        for columns, what in ((TOKEN_COLUMNS, "token arrays"), (_LONG_TEXT, "texts")):
            for table in ("samples", "turns"):
                if self.held > self._bound:
                    self._strip(table, columns, what)

    def _strip(self, table: str, columns: frozenset[str], what: str) -> None:
        lost = 0
        for row in self._rows[table]:
            for column in columns & row.keys():
                del row[column]
                lost += 1
        if lost:
            self._losses.count(what, WHY, lost)
            self._sizes[table] = [*map(size, self._rows[table])]


def _rows_of_block(sizes: list[int]) -> int:
    """How many rows make a block of about the right size."""
    total = 0
    for count, bytes in enumerate(sizes, 1):
        total += bytes
        if total > 4 * BLOCK or count == MOST_ROWS:
            return count
    return len(sizes)


def size(row: Mapping[str, Any]) -> int:
    """About how many bytes a row holds."""
    total = 100 + 8 * len(row)
    for value in row.values():
        kind = type(value)
        if kind is str:
            total += len(value)
        elif kind is np.ndarray:
            total += value.nbytes
        elif kind is dict or kind is list or kind is bytes:
            total += _nested_size(value)
    return total


def _nested_size(value: Any) -> int:
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind is dict:
        return 16 + sum(map(_nested_size, value.values()))
    if kind is list:
        return 16 + sum(map(_nested_size, value))
    return value.nbytes if kind is np.ndarray else 8
