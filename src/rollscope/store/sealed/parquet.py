"""How a table lies in Parquet: which encodings, how many rows together. Figures are from measurements on 10 M points and 1 M samples.

Doubles by byte stream, steps and times by their differences and words by dictionary come to 6 bytes a point where the defaults take 8.
Text lies in files of its own: small row groups that decompress fast, so that a search reads nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.store import arrow

ROWS = {
    "metrics": 65_536,
    "samples": 4_096,
    "turns": 16_384,
}  # in a row group: a series or a step is found by its group
MANY_ROWS = 122_880  # of any other table
TEXT_ROWS = 1_000
TEXT_BYTES = 4 << 20  # a sample is read with its row group: of long texts fewer lie in one

METRIC_WORDS = ["run", "name", "kind", "writer", "env", "split", "clock"]
WORDS = (
    "run",
    "name",
    "kind",
    "writer",
    "env",
    "split",
    "clock",
    "lane",
    "host",
    "device",
    "set",
    "role",
    "tool",
    "stop_reason",
    "discard_reason",
    "rule",
    "severity",
    "project",
)


class Writing:
    """A file in the making. Narrow rows are kept back until they fill a row group; text is written as it comes."""

    def __init__(self, path: str, schema: pa.Schema, name: str, text: bool = False) -> None:
        self.schema, self._text, self._rows = schema, text, ROWS.get(name, MANY_ROWS)
        self._writer = pq.ParquetWriter(path, schema, **(_text_options() if text else _narrow_options(schema)))
        self._kept: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        table = table.select(self.schema.names)
        if self._text:
            for part in _parts(table):
                self._writer.write_table(part)
            return
        self._kept.append(table)
        if sum(map(len, self._kept)) >= self._rows:
            self._write(self._rows, to_the_end=False)

    def _write(self, size: int, to_the_end: bool) -> None:
        """Row groups of `size` rows; what does not fill one is kept, unless it is the end."""
        table = pa.concat_tables(self._kept)
        full = len(table) if to_the_end else len(table) - len(table) % size
        for start in range(0, full, size):
            self._writer.write_table(table.slice(start, min(size, full - start)), row_group_size=size)
        self._kept = [table.slice(full).combine_chunks()] if full < len(table) else []

    def close(self) -> None:
        if self._kept:
            self._write(self._rows, to_the_end=True)
        self._writer.close()


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """Row groups of text: at most a thousand rows, and a few MB."""
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
