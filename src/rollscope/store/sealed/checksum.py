"""Our checksums of sealed files. Parquet readers alone would return flipped bits as numbers.

Each row group and the footer of a file has a CRC-32, and the footer has a copy, so a damaged byte
costs at most its row group.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """The bytes of one row group, their checksum, and the range of its steps."""

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
    """The entry of a Parquet file in the manifest, and its footer."""
    import pyarrow.parquet as pq  # only a sealer needs it

    size = os.path.getsize(path)
    with open(path, "rb") as file:
        metadata = pq.ParquetFile(file).metadata
        fd = file.fileno()
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little") + 8
        file.seek(size - length)
        footer = file.read()
        groups = [_group(fd, metadata.row_group(i)) for i in range(metadata.num_row_groups)]
    facts = {"size": size, "rows": metadata.num_rows, "groups": groups}
    return facts | {"footer": [size - length, length, zlib.crc32(footer)]}, footer


def _group(fd: int, group: Any) -> list[Any]:
    """The fields of a `Group`."""
    begin, end = 2**63, 0
    steps: list[Any] = [None, None]
    for i in range(group.num_columns):
        column = group.column(i)
        start = chunk_start(column)
        begin, end = min(begin, start), max(end, start + column.total_compressed_size)
        if column.path_in_schema == "step":
            steps = _step_range(column.statistics)
    return [begin, end - begin, of_range(fd, begin, end - begin), group.num_rows, *steps]


def chunk_start(column: Any) -> int:
    """The offset of a column chunk, from its metadata: its dictionary, if any, comes first."""
    dictionary = column.dictionary_page_offset
    return int(column.data_page_offset if dictionary is None else min(dictionary, column.data_page_offset))


def _step_range(statistics: Any) -> list[Any]:
    """The lowest and highest step; None if unknown, or if some row has no step."""
    known = statistics is not None and statistics.has_min_max and statistics.null_count == 0
    return [statistics.min, statistics.max] if known else [None, None]
