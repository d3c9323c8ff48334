"""Checksums of sealed files, ours: a reader that trusts Parquet alone hands out flipped bits as numbers.

Each row group and the footer of a file has a CRC-32, and the footer a copy, so that a damaged byte costs at most the row group it is in.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """Bytes of one row group, and the steps it holds."""

    offset: int
    length: int
    crc: int
    rows: int
    step_lo: int | None = None
    step_hi: int | None = None


def of_range(fd: int, offset: int, length: int) -> int:
    crc = 0
    for at in range(offset, offset + length, 8 << 20):
        crc = zlib.crc32(os.pread(fd, min(8 << 20, offset + length - at), at), crc)
    return crc


def describe(path: str) -> tuple[dict[str, Any], bytes]:
    """What the manifest says about a Parquet file, and its footer."""
    import pyarrow.parquet as pq  # only who writes a file needs it here

    size = os.path.getsize(path)
    with open(path, "rb") as file:
        metadata = pq.ParquetFile(file).metadata
        fd = file.fileno()
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little") + 8
        file.seek(size - length)
        footer = file.read()
        groups = [_group(fd, metadata.row_group(i)) for i in range(metadata.num_row_groups)]
    return {
        "size": size,
        "rows": metadata.num_rows,
        "groups": groups,
        "footer": [size - length, length, zlib.crc32(footer)],
    }, footer


def _group(fd: int, group: Any) -> list[Any]:
    begin, end = 2**63, 0
    steps: list[Any] = [None, None]
    for i in range(group.num_columns):
        column = group.column(i)
        start = (
            column.data_page_offset
            if column.dictionary_page_offset is None
            else min(column.dictionary_page_offset, column.data_page_offset)
        )
        begin, end = min(begin, start), max(end, start + column.total_compressed_size)
        if column.path_in_schema == "step" and column.statistics is not None and column.statistics.has_min_max:
            steps = [column.statistics.min, column.statistics.max]
            steps = steps if column.statistics.null_count == 0 else [None, None]
    return [begin, end - begin, of_range(fd, begin, end - begin), group.num_rows, *steps]
