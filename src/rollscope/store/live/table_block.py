"""Decode table blocks of a log into Arrow tables, without a Python value per cell if possible."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from rollscope.store.arrow import ESCAPED, SEQ, TYPES, strings
from rollscope.store.log.block import LISTS, NULL, NUMBERS, Cells, Table
from rollscope.store.numbers.rows import Ints

KEYS = {"samples": "id", "turns": "sample"}  # columns that readers look rows up by


def table(block: Table, writer: str, seq: int) -> pa.Table:
    """The columns of a block, and the columns `writer`, `seq` and `escaped`."""
    return with_source(own_columns(block), writer, seq)


def with_source(rows: pa.Table, writer: str, seq: int) -> pa.Table:
    """The rows with the columns `writer` and `seq`, which are the same in all rows of a log."""
    rows = rows.append_column("writer", pa.repeat(pa.scalar(writer, TYPES["string"]), len(rows)))
    return rows.append_column(SEQ, pa.array(np.full(len(rows), seq, np.int64)))


def own_columns(block: Table) -> pa.Table:
    """The columns of a block, and the column `escaped`, without those that `with_source` adds."""
    columns, escaped = arrays(block.columns)
    if escaped:
        flags = [",".join(escaped[i]) if i in escaped else None for i in range(block.rows)]
        columns[ESCAPED] = pa.array(flags, TYPES["string"])
    if (key := KEYS.get(block.table)) is not None and key not in columns:
        columns[key] = pa.nulls(block.rows, TYPES["string"])
    columns.pop("writer", None)
    return pa.table(columns) if columns else pa.table({ESCAPED: pa.nulls(block.rows, TYPES["string"])})


def arrays(columns: Mapping[str, Cells]) -> tuple[dict[str, pa.Array], dict[int, list[str]]]:
    """The columns as Arrow, and the columns in which each row has an escaped text."""
    decoded: dict[str, pa.Array] = {}
    escaped: dict[int, list[str]] = {}
    for name, cells in columns.items():
        if _may_have_surrogates(cells):
            decoded[name], bad = strings(cells.values())
            for row in bad:
                escaped.setdefault(row, []).append(name)
        else:
            decoded[name] = _array(cells)
    return decoded, escaped


def _may_have_surrogates(cells: Cells) -> bool:
    if cells.encoding == "const":
        return isinstance(cells.const, str) and not cells.const.isascii()
    return cells.encoding == "wtf8" or (cells.encoding == "dict" and not _is_utf8(cells.parts[2]))


def _is_utf8(data: memoryview) -> bool:
    try:
        bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return True


def _array(cells: Cells) -> pa.Array:
    if cells.encoding == "const":
        return pa.repeat(pa.scalar(cells.const, TYPES[cells.type]), cells.rows)
    if cells.encoding == "dict":
        codes = np.frombuffer(cells.parts[0], "<u4")
        words = _texts(cells.parts[1], cells.parts[2])
        return words.take(pa.array(np.where(codes == NULL, 0, codes), mask=codes == NULL))
    if cells.type in LISTS:
        return _lists(cells)
    if cells.type in NUMBERS:
        numbers = np.frombuffer(cells.parts[0], NUMBERS[cells.type])
        nulls = np.frombuffer(cells.parts[1], bool) if len(cells.parts) > 1 else None
        return pa.array(numbers, TYPES[cells.type], mask=nulls)  # a logged NaN stays NaN
    if cells.type == "bool":
        codes = np.frombuffer(cells.parts[0], np.uint8)
        return pa.array(codes == 1, mask=codes == 2)
    return _texts(cells.parts[0], cells.parts[1])


def _offsets(lengths: memoryview) -> tuple[Ints, pa.Buffer | None, int]:
    """Offsets, validity bitmap and number of nulls of an Arrow array with these cell lengths."""
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
    buffers = [valid, pa.py_buffer(ends)]
    return pa.LargeListArray.from_buffers(TYPES[cells.type], len(ends) - 1, buffers, nulls, 0, [values])
