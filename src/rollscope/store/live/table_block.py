"""Table blocks of a log as Arrow tables, without touching a value in Python where the bytes allow it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.store.arrow import ESCAPED, SEQ, TYPES, strings
from rollscope.store.log.block import LISTS, NULL, NUMBERS, Cells, Table


def table(found: Table, writer: str, seq: int) -> pa.Table:
    """The columns the block has, with who wrote it and into which of their files."""
    arrays: dict[str, pa.Array] = {}
    escaped: dict[int, list[str]] = {}
    for name, cells in found.columns.items():
        if cells.encoding == "wtf8" or (cells.encoding == "dict" and _odd(cells)):
            arrays[name], bad = strings(cells.values())
            for row in bad:
                escaped.setdefault(row, []).append(name)
        else:
            arrays[name] = _array(cells)
    if escaped:
        arrays[ESCAPED] = pa.array(
            [",".join(escaped[i]) if i in escaped else None for i in range(found.rows)], TYPES["string"]
        )
    arrays["writer"] = pa.repeat(pa.scalar(writer, TYPES["string"]), found.rows)
    arrays[SEQ] = pa.array(np.full(found.rows, seq, np.int64))
    return pa.table(arrays)


def _odd(cells: Cells) -> bool:
    try:
        bytes(cells.parts[2]).decode()
    except UnicodeDecodeError:
        return True
    return False


def _array(cells: Cells) -> pa.Array:
    if cells.encoding == "const":
        return pa.repeat(_scalar(cells), cells.rows)
    if cells.encoding == "dict":
        codes = np.frombuffer(cells.parts[0], "<u4")
        words = _texts(cells.parts[1], cells.parts[2])
        return words.take(pa.array(np.where(codes == NULL, 0, codes), mask=codes == NULL))
    if cells.type in LISTS:
        return _lists(cells)
    if cells.type in NUMBERS:
        numbers = np.frombuffer(cells.parts[0], NUMBERS[cells.type])
        nulls = np.frombuffer(cells.parts[1], bool) if len(cells.parts) > 1 else None
        return pa.array(numbers, TYPES[cells.type], mask=nulls)  # a NaN that was logged stays a NaN
    if cells.type == "bool":
        codes = np.frombuffer(cells.parts[0], np.uint8)
        return pa.array(codes == 1, mask=codes == 2)
    return _texts(cells.parts[0], cells.parts[1])


def _scalar(cells: Cells) -> Any:
    return pa.scalar(cells.const, TYPES[cells.type])


def _offsets(lengths: memoryview) -> tuple[np.ndarray[Any, Any], pa.Buffer | None, int]:
    sizes = np.frombuffer(lengths, "<u4")
    nulls = sizes == NULL
    ends = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.where(nulls, 0, sizes), out=ends[1:])
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    return ends, valid, int(nulls.sum())


def _texts(lengths: memoryview, data: memoryview) -> pa.Array:
    ends, valid, nulls = _offsets(lengths)
    return pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data), valid, nulls)


def _lists(cells: Cells) -> pa.Array:
    ends, valid, nulls = _offsets(cells.parts[0])
    values = pa.array(np.frombuffer(cells.parts[1], LISTS[cells.type]))
    return pa.LargeListArray.from_buffers(
        TYPES[cells.type], len(ends) - 1, [valid, pa.py_buffer(ends)], nulls, 0, [values]
    )
