"""The tables of `schema.py` as Arrow, and Arrow as a dict of numpy arrays.

Arrow has no string for a lone surrogate, and one such character would make a whole Parquet file
unreadable. So a text that has one is escaped (`\\` becomes `\\\\`, the surrogate its `\\uXXXX`),
and the column `escaped` of the row lists the escaped columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.strict_json import parsed

from .schema import TABLES, Column

TYPES: dict[str, pa.DataType] = {
    "string": pa.large_string(),
    "json": pa.large_string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "float64[]": pa.large_list(pa.float64()),
    "int64[]": pa.large_list(pa.int64()),
    "float32[]": pa.large_list(pa.float32()),
}
THREADS = 2  # of a reader: training may run on the same machine
pa.set_cpu_count(min(pa.cpu_count(), THREADS))
ESCAPED = "escaped"
SEQ = "seq"  # number of the log, of its writer, that a row came from: higher is later
MAPPINGS = {"rewards", "sample_metrics", "scores"}  # JSON columns that map names to values
Columns = dict[str, np.ndarray[Any, Any]]

# Arrow's type -> numpy's. Arrow's own `to_pandas_dtype` needs pandas before version 26.
_SCALARS: dict[int, Any] = {
    pa.from_numpy_dtype(scalar).id: scalar
    for scalar in (
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.bool_),
    )
}
_SURROGATE = re.compile("[\ud800-\udfff\\\\]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def fields(table: str, big: bool | None = None) -> list[Column]:
    """The columns of a table: all, or only the narrow or the big ones."""
    return [column for column in TABLES[table] if big is None or column.big == big]


def schema(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of some columns, and of those every stored row has: writer, escaped, seq."""
    own = [pa.field(c.name, TYPES[c.type]) for c in columns]
    more = [pa.field("writer", TYPES["string"])] if all(field.name != "writer" for field in own) else []
    return pa.schema([*own, *more, pa.field(ESCAPED, TYPES["string"]), pa.field(SEQ, pa.int64())])


def escape(text: str) -> str:
    return _SURROGATE.sub(lambda m: "\\\\" if m[0] == "\\" else f"\\u{ord(m[0]):04x}", text)


def unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), text)


def strings(values: Sequence[str | None]) -> tuple[pa.Array, list[int]]:
    """An Arrow array of texts, and the rows whose text had to be escaped."""
    try:
        return pa.array(values, TYPES["string"]), []
    except UnicodeEncodeError:
        bad = [i for i, text in enumerate(values) if text is not None and not _encodes(text)]
        fixed = list(values)
        for i in bad:
            fixed[i] = escape(fixed[i] or "")
        return pa.array(fixed, TYPES["string"]), bad


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def missing(column: pa.ChunkedArray | pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are null. Like `filled`, it avoids Arrow's functions: importing them is slow."""
    parts = [np.empty(0, bool)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        bits = chunk.buffers()[0] if chunk.null_count else None
        if bits is None:
            parts.append(np.zeros(len(chunk), bool))
        else:
            valid = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
            parts.append(valid[chunk.offset :][: len(chunk)] == 0)
    return np.concatenate(parts)


def filled(column: pa.ChunkedArray | pa.Array, value: float) -> np.ndarray[Any, Any]:
    """Numbers or booleans, with `value` for null."""
    dtype = _SCALARS[column.type.id]
    parts = [np.empty(0, dtype)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        raw = chunk.buffers()[1] or b""
        if dtype is np.bool_:
            buffer = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little").view(np.bool_)
        else:
            buffer = np.frombuffer(raw, dtype)
        numbers = buffer[chunk.offset :][: len(chunk)]
        parts.append(np.where(missing(chunk), dtype(value), numbers) if chunk.null_count else numbers)
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray[Any, Any]:
    """Numbers or booleans; null becomes NaN among floats, else 0.

    Arrow's own conversion imports pandas, if installed, which takes longer than reading a series.
    """
    return filled(column, np.nan if pa.types.is_floating(column.type) else 0)


def nulls(count: int, kind: pa.DataType) -> pa.Array:
    """A column without a value. Its memory is zeros that are never touched, so it takes no time."""
    if not (pa.types.is_primitive(kind) or pa.types.is_large_string(kind)):
        return pa.nulls(count, kind)
    zeros = pa.py_buffer(np.zeros(8 * (count + 1), np.uint8))
    buffers = [zeros, zeros, pa.py_buffer(b"")] if pa.types.is_large_string(kind) else [zeros, zeros]
    return pa.Array.from_buffers(kind, count, buffers, null_count=count)


def conformed(rows: pa.Table, columns: Iterable[Column]) -> pa.Table:
    """The table with exactly these columns; those it lacks are null."""
    wanted, names = schema(columns), set(rows.column_names)
    arrays = [rows[f.name].cast(f.type) if f.name in names else nulls(len(rows), f.type) for f in wanted]
    return pa.table(arrays, schema=wanted)


def numpy(
    rows: pa.Table, types: Mapping[str, str], parse: bool = True, ours: Sequence[str] = (ESCAPED, SEQ)
) -> Columns:
    """Columns as numpy arrays, without those that are `ours`. JSON is parsed, escapes are undone.

    Null is None among texts and booleans, and NaN among floats. Integers with a null become floats
    with NaN, or objects with None if a float could not represent them all.
    """
    has_flags = ESCAPED in rows.column_names and rows[ESCAPED].null_count < len(rows)
    flags = rows[ESCAPED].to_pylist() if has_flags else None
    columns = {}
    for name in rows.column_names:
        if name in ours:
            continue
        values = _numpy(rows[name])
        if flags and (pa.types.is_large_string(rows[name].type) or pa.types.is_string(rows[name].type)):
            values = _unescaped(values, name, flags)
        if parse and types.get(name) == "json":
            values = _objects([None if text is None else _json(name, text) for text in values])
        columns[name] = values
    return columns


def _json(name: str, text: str) -> Any:
    """A JSON value; None where a mapping of numbers is something else."""
    value = parsed(text)
    return value if name not in MAPPINGS or isinstance(value, dict) else None


def _numpy(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count:
        exact = filled(column, 0)
        if (np.abs(exact) <= 2**53).all():
            return np.where(missing(column), np.nan, exact)
        return _objects(column.to_pylist())
    if column.null_count == len(column) and not pa.types.is_floating(kind):
        return np.full(len(column), None, object)
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return _objects([None if not cell.is_valid else cell.values.to_numpy(zero_copy_only=False) for cell in column])
    if pa.types.is_dictionary(kind):
        return np.asarray(column.cast(kind.value_type).to_numpy())
    return np.asarray(column.to_numpy())


def _unescaped(values: np.ndarray[Any, Any], name: str, flags: Sequence[str | None]) -> np.ndarray[Any, Any]:
    out = values.copy()
    for i, flag in enumerate(flags):
        if flag and name in flag.split(",") and out[i] is not None:
            out[i] = unescape(out[i])
    return out


def _objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    out = np.empty(len(values), object)
    for i, value in enumerate(values):  # assigning a slice would make a matrix of equally long lists
        out[i] = value
    return out
