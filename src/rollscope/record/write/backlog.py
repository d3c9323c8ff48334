"""Rows that wait to be written: numbers packed, other rows as they are, until they become blocks.

While the disk takes no blocks, this is the spool. Over its bound it gives up host samples first,
then spans, then token arrays, then text. Numbers stay: the queue refuses new ones only at four
times the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from rollscope.record.loss import Losses
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS, TURN_TEXT_COLUMNS

from .columns import ROW_BYTES, Columns, nested_size
from .encode import BLOCK, Metrics
from .table_blocks import Row, TableEncoder

ORDER = ("runs", "notes", "steps", "evals", "findings", "samples", "turns", "spans", "host")
MOST_ROWS = 4096  # in a block
LARGE = 4 * BLOCK  # bytes of rows in memory that make a block
_LONG_TEXT = TURN_TEXT_COLUMNS | TEXT_COLUMNS
WHY = "memory was full while the store could not be written"


class Backlog:
    """Rows by table, and how many bytes they hold."""

    def __init__(self, losses: Losses, bound: int, attempt: int) -> None:
        self.metrics = Metrics(losses)
        self._rows: dict[str, list[Row | Columns]] = {table: [] for table in ORDER}
        self._sizes: dict[str, list[int]] = {table: [] for table in ORDER}  # bytes of each of them
        self._losses = losses
        self._bound = bound
        self._tables = TableEncoder({"attempt": attempt}, losses)

    def add(self, table: str, rows: list[Row] | Columns) -> int:
        """Keep rows. Returns about how many bytes they hold."""
        if isinstance(rows, Columns):
            return self._add_columns(table, rows) if rows.count else 0
        sizes = [*map(size, rows)]
        self._rows[table] += rows
        self._sizes[table] += sizes
        return sum(sizes)

    def _add_columns(self, table: str, columns: Columns) -> int:
        """Keep them in parts of a block each."""
        total = columns.size()
        most = max(1, columns.count * LARGE // max(total, 1))
        parts = columns.parts(most) if total > LARGE else [columns]
        self._rows[table] += parts
        self._sizes[table] += [total * part.count // columns.count for part in parts]
        return total

    @property
    def held(self) -> int:
        """Bytes of all rows that wait."""
        return sum(map(sum, self._sizes.values())) + self.metrics.held

    def blocks(self) -> Iterator[bytes]:
        """Blocks to write. The rows of a block are dropped only when the next block is taken."""
        yield from self.metrics.blocks()
        for table in ORDER:
            while rows := self._rows[table]:
                payload, count = self._block(table, rows)
                if payload is not None:
                    yield payload
                del rows[:count]
                del self._sizes[table][:count]

    def _block(self, table: str, rows: list[Row | Columns]) -> tuple[bytes | None, int]:
        """The next block of a table, and how many entries are in it."""
        first = rows[0]
        if isinstance(first, Columns):
            payload = self._tables.columns(table, first)
            if payload is not None:
                return payload, 1
            rows[:1] = first.records()  # a value does not fit: each is tried alone
            self._sizes[table][:1] = map(_size, rows[: first.count])
        count = _rows_of_block(rows, self._sizes[table])
        return self._tables.block(table, cast(list[Row], rows), count)  # none of the first `count` is `Columns`

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
        lost = sum(_without(entry, columns) for entry in self._rows[table])
        if lost:
            self._losses.count(what, WHY, lost)
            self._sizes[table] = [*map(_size, self._rows[table])]


def _without(entry: Row | Columns, columns: frozenset[str]) -> int:
    """Remove columns from one or more rows. Returns how many values are gone."""
    if isinstance(entry, Columns):
        return entry.remove(columns)
    gone = columns & entry.keys()
    for column in gone:
        del entry[column]
    return len(gone)


def _size(entry: Row | Columns) -> int:
    return entry.size() if isinstance(entry, Columns) else size(entry)


def _rows_of_block(rows: list[Any], sizes: list[int]) -> int:
    """How many rows make a block of about the right size."""
    total = 0
    for count, (row, bytes) in enumerate(zip(rows, sizes, strict=True)):
        if total > LARGE or count == MOST_ROWS or isinstance(row, Columns):
            return count
        total += bytes
    return len(sizes)


def size(row: Mapping[str, Any]) -> int:
    """About how many bytes a row holds."""
    total = ROW_BYTES + 8 * len(row)
    for value in row.values():
        kind = type(value)
        if kind is str:
            total += len(value)
        elif kind is np.ndarray:
            total += value.nbytes
        elif kind is dict or kind is list or kind is bytes:
            total += nested_size(value)
    return total
