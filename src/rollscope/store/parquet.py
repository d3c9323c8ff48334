"""How a table lies in Parquet: which encodings, how many rows together. Figures are from measurements on 10 M points and 1 M samples.

Doubles by byte stream, steps and times by their differences and words by dictionary come to 6 bytes a point where the defaults take 8.
Text lies in files of its own: small row groups that decompress fast, so that a search reads nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import arrow

ROWS = {"metrics": 65_536, "samples": 4_096, "turns": 16_384}  # in a row group: a series or a step is found by its group
MANY_ROWS = 122_880  # of any other table
TEXT_ROWS = 1_000
TEXT_BYTES = 32 << 20

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


def write(path: str, table: pa.Table, name: str, text: bool = False) -> None:
    """Write a table whole. A text file has row groups of at most a thousand rows and a few dozen MB."""
    with pq.ParquetWriter(path, table.schema, **(_text_options() if text else _narrow_options(table.schema))) as writer:
        for start, stop in groups(table, name, text):
            writer.write_table(table.slice(start, stop - start), row_group_size=max(stop - start, 1))


def groups(table: pa.Table, name: str, text: bool) -> Sequence[tuple[int, int]]:
    size = ROWS.get(name, MANY_ROWS)
    if text and len(table):
        size = max(1, min(TEXT_ROWS, TEXT_BYTES * len(table) // max(table.nbytes, 1)))
    return [(start, min(start + size, len(table))) for start in range(0, len(table), size)]


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
