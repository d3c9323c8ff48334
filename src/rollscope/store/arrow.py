"""The tables of `schema.py` as Arrow, and Arrow as what a caller gets: a dict of numpy arrays.

Arrow has no string for a lone surrogate, and one such character would make a whole Parquet file
unreadable. So a text that has one is escaped (`\\` becomes `\\\\`, the surrogate its `\\uXXXX`),
and the row's `escaped` column names the columns it was done to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

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
THREADS = 2  # of a reader: it must not take more than its share of the machine somebody trains on
pa.set_cpu_count(min(pa.cpu_count(), THREADS))
ESCAPED = "escaped"
SEQ = "seq"  # which log of its writer a row came from: later ones were written later
Columns = dict[str, np.ndarray[Any, Any]]

_SURROGATE = re.compile("[\ud800-\udfff\\\\]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})")


def fields(table: str, big: bool | None = None) -> list[Column]:
    """The columns of a table: all, the narrow ones, or the big ones."""
    return [column for column in TABLES[table] if big is None or column.big == big]


def schema(columns: Iterable[Column]) -> pa.Schema:
    """The columns, and what every stored row has beside them: who wrote it, into which of their files, and what is escaped."""
    own = [pa.field(c.name, TYPES[c.type]) for c in columns]
    more = [pa.field("writer", TYPES["string"])] if all(field.name != "writer" for field in own) else []
    return pa.schema([*own, *more, pa.field(ESCAPED, TYPES["string"]), pa.field(SEQ, pa.int64())])


def escape(text: str) -> str:
    return _SURROGATE.sub(lambda m: "\\\\" if m[0] == "\\" else f"\\u{ord(m[0]):04x}", text)


def unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), text)


def strings(values: Sequence[str | None]) -> tuple[pa.Array, list[int]]:
    """An Arrow array of texts, and the rows in which one had to be escaped."""
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
    """Which rows say nothing. Like `filled`, without Arrow's functions: importing those costs more than reading a series."""
    parts = [np.empty(0, bool)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        bits = chunk.buffers()[0] if chunk.null_count else None
        said = (
            np.ones(len(chunk), bool)
            if bits is None
            else np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[chunk.offset :][: len(chunk)]
        )
        parts.append(said == 0)
    return np.concatenate(parts)


def filled(column: pa.ChunkedArray | pa.Array, value: float) -> np.ndarray[Any, Any]:
    """Numbers or booleans, with `value` where nothing was said."""
    dtype = column.type.to_pandas_dtype()
    parts = [np.empty(0, dtype)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        raw = chunk.buffers()[1] or b""
        whole = (
            np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little").view(np.bool_)
            if dtype is np.bool_
            else np.frombuffer(raw, dtype)
        )
        numbers = whole[chunk.offset :][: len(chunk)]
        parts.append(np.where(missing(chunk), dtype(value), numbers) if chunk.null_count else numbers)
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray[Any, Any]:
    """Numbers or booleans as they are, a null among floats NaN. Arrow's own way imports pandas, where there is one: longer than all that a series takes."""
    return filled(column, np.nan if pa.types.is_floating(column.type) else 0)


def conformed(found: pa.Table, columns: Iterable[Column]) -> pa.Table:
    """The table with exactly these columns; those it lacks are null."""
    want = schema(columns)
    have = set(found.column_names)
    return pa.table(
        [found[f.name].cast(f.type) if f.name in have else pa.nulls(len(found), f.type) for f in want], schema=want
    )


def numpy(
    found: pa.Table, types: Mapping[str, str], parse: bool = True, ours: Sequence[str] = (ESCAPED, SEQ)
) -> Columns:
    """Columns as numpy arrays; JSON is parsed, escapes are undone. Columns that are `ours` are not handed out.

    A null is None among texts and booleans and NaN among floats. Integers with a null among them
    come as floats with NaN, or as objects with None where a float could not hold them all.
    """
    flags = (
        found[ESCAPED].to_pylist() if ESCAPED in found.column_names and found[ESCAPED].null_count < len(found) else None
    )
    columns = {}
    for name in found.column_names:
        if name in ours:
            continue
        values = _numpy(found[name])
        if flags and (pa.types.is_large_string(found[name].type) or pa.types.is_string(found[name].type)):
            values = _unescaped(values, name, flags)
        if parse and types.get(name) == "json":
            values = _objects([None if text is None else json.loads(text) for text in values])
        columns[name] = values
    return columns


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
    for i, value in enumerate(values):  # a slice would make a matrix of lists of one length
        out[i] = value
    return out
