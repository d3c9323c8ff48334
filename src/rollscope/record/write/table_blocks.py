"""Turns rows of a table into blocks, whatever is in them.

Nearly always all rows are encoded together. If that fails, every value is tried alone: one that
does not fit its column is left out and counted, and what is left is encoded again, if need be row
by row. No row is tried for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rollscope.record.caller.label import shown, text
from rollscope.record.loss import ODD, Losses, one_line
from rollscope.store.log import block
from rollscope.store.log.column import Cells, encode
from rollscope.store.log.frame import LARGEST
from rollscope.store.schema import TABLES, Column
from rollscope.strict_json import dumps

from .columns import Columns

Row = dict[str, Any]


class TableEncoder:
    """Encodes rows of any table. `common` holds columns with one value in all rows."""

    def __init__(self, common: Mapping[str, Any], losses: Losses) -> None:
        self._common = common
        self._losses = losses

    def block(self, table: str, rows: list[Row], count: int) -> tuple[bytes | None, int]:
        """A block of the first rows, at most `count`, and how many they are.

        None if it is one row that cannot be encoded, which is counted. Values that do not fit are
        removed from `rows`. Raises only when memory is full.
        """
        payload = self._tried(table, rows[:count])
        if payload is None:
            rows[:count] = [self._encodable(table, row) for row in rows[:count]]
            payload = self._tried(table, rows[:count])
        if payload is None and count > 1:
            return self.block(table, rows, 1)
        if payload is None:
            self._losses.count(f"rows of {table}", "they could not be encoded")
        return payload, count

    def columns(self, table: str, rows: Columns) -> bytes | None:
        """A block of rows that are columns; None if a value does not fit."""
        return self._made(partial(block.columns, table, rows.count, rows.values, self._common))

    def _tried(self, table: str, rows: list[Row]) -> bytes | None:
        return self._made(partial(block.table, table, rows, self._common))

    def _made(self, make: Callable[[], bytes]) -> bytes | None:
        try:
            payload = make()
        except MemoryError:
            raise  # there may be room in the next round
        except ODD:
            return None
        return payload if len(payload) <= LARGEST else None

    def _encodable(self, table: str, row: Mapping[str, Any]) -> Row:
        """The values of a row that fit their columns."""
        valid = {}
        for column in TABLES[table]:
            value = row.get(column.name)
            if value is None:
                continue
            try:
                valid[column.name] = self._as_read(column, value)
            except ODD as error:
                why = f"{table}.{column.name} should be {column.type}, not {shown(value)} ({one_line(error)})"
                self._losses.count("values", why)
        return valid

    def _as_read(self, column: Column, value: Any) -> Any:
        """The value as a reader will see it: an object that changes is encoded only once."""
        if column.type == "json" and not isinstance(value, str):
            text = dumps(self._json(value))
            return text if text.startswith('"') else json.loads(text)
        encoding, parts = encode(column.type, [value], column.big)
        return Cells(column.name, column.type, encoding, 1, [memoryview(part) for part in parts]).values()[0]

    def _json(self, value: Any) -> Any:
        """The value with text in place of everything inside it that JSON cannot hold."""
        if isinstance(value, Mapping):
            return {text(key, self._losses.count): self._json(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._json(inner) for inner in value]
        try:
            dumps(value)
            return value
        except ODD:
            return text(value, self._losses.count)
