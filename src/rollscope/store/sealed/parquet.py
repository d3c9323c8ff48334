"""Write a table as Parquet: encodings and row group sizes, measured on 10 M points and 1 M samples.

Doubles are split by byte, steps and times stored as differences, and words in a dictionary: 6 bytes
a point instead of the default 8. Text has files of its own, with small row groups that decompress
fast, so a search reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.store import arrow

# rows of a row group: a reader finds a series or a step by its group
ROWS = {"metrics": 65_536, "samples": 4_096, "turns": 16_384, "spans": 16_384}
MANY_ROWS = 122_880  # of any other table
TEXT_ROWS = 1_000
TEXT_BYTES = 4 << 20  # a sample is read with its row group, so a group has fewer rows if texts are long

METRIC_WORDS = ["run", "name", "kind", "writer", "env", "split", "clock"]
WORDS = (
    *METRIC_WORDS,
    *("lane", "host", "device", "set", "role", "tool", "stop_reason", "discard_reason"),
    *("rule", "severity", "project"),
)


class TableWriter:
    """Writes one Parquet file. Rows wait until they fill a row group; text is written at once."""

    def __init__(self, path: str, schema: pa.Schema, name: str, text: bool = False) -> None:
        self.schema, self._text, self._rows = schema, text, ROWS.get(name, MANY_ROWS)
        self._writer = pq.ParquetWriter(path, schema, **(_text_options() if text else _narrow_options(schema)))
        self._waiting: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        table = table.select(self.schema.names)
        if self._text:
            for group in _text_groups(table):
                self._writer.write_table(group)
            return
        self._waiting.append(table)
        if sum(map(len, self._waiting)) >= self._rows:
            self._write(self._rows, to_the_end=False)

    def _write(self, size: int, to_the_end: bool) -> None:
        """Write row groups of `size` rows; a rest waits for more rows, unless this is the end."""
        table = pa.concat_tables(self._waiting)
        full = len(table) if to_the_end else len(table) - len(table) % size
        for start in range(0, full, size):
            self._writer.write_table(table.slice(start, min(size, full - start)), row_group_size=size)
        self._waiting = [table.slice(full).combine_chunks()] if full < len(table) else []

    def close(self) -> None:
        if self._waiting:
            self._write(self._rows, to_the_end=True)
        self._writer.close()


def _text_groups(table: pa.Table) -> Iterator[pa.Table]:
    """Cut text into row groups of at most `TEXT_ROWS` rows and `TEXT_BYTES` bytes."""
    for start in range(0, len(table), TEXT_ROWS):
        yield from _halves(table.slice(start, TEXT_ROWS))


def _halves(table: pa.Table) -> Iterator[pa.Table]:
    if len(table) > 1 and table.nbytes > TEXT_BYTES:
        yield from _halves(table.slice(0, len(table) // 2))
        yield from _halves(table.slice(len(table) // 2))
    else:
        yield table


def _narrow_options(schema: pa.Schema) -> dict[str, Any]:
    encodings: dict[str, str] = {}
    for field in schema:
        if field.type == pa.float64():
            encodings[field.name] = "BYTE_STREAM_SPLIT"
        elif field.type == pa.int64():
            encodings[field.name] = "DELTA_BINARY_PACKED"
        elif field.type == arrow.TYPES["float64[]"]:
            encodings[f"{field.name}.list.element"] = "BYTE_STREAM_SPLIT"
    words = [field.name for field in schema if field.name in WORDS]
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": words,
        "column_encoding": encodings,
        "write_page_checksum": True,
        "data_page_size": 1 << 20,
    }


def _text_options() -> dict[str, Any]:
    return {
        "compression": "lz4",
        "use_dictionary": ["run", "prompt", "answer"],
        "write_page_checksum": True,
        "write_statistics": ["step"],
        "data_page_size": 1 << 20,
    }
