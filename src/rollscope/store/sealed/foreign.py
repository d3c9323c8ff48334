"""Parquet files of a set that another program wrote or rewrote, as tables of `schema.py`.

A column of a narrower type (int32, string) is widened. A column that cannot be read as what it
should be is null. A column that rows are looked up by and that is missing is null too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.schema import TABLES

# columns that every file of a table has, and its text file too
KEYS: dict[str, tuple[str, ...]] = {
    "metrics": (*(column.name for column in TABLES["metrics"] if column.name != "run"), arrow.ESCAPED, arrow.SEQ),
    "samples": ("id", "step"),
    "turns": ("sample", "turn", "step"),
}


@cache
def _types(table: str) -> dict[str, pa.DataType]:
    """The types of a table's columns; none of a table that this version does not know."""
    return {field.name: field.type for field in arrow.schema(TABLES[table])} if table in TABLES else {}


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _fits(kind: pa.DataType, wanted: pa.DataType, table: str) -> bool:
    """True if a column is read as it is. Words of metrics are read as dictionaries."""
    words = table == "metrics" and pa.types.is_dictionary(kind) and _is_text(kind.value_type) and _is_text(wanted)
    return bool(kind == wanted or words)


def is_ours(kinds: pa.Schema, table: str) -> bool:
    """True if a file's columns have the types of the schema and no key is missing."""
    types = _types(table)
    fit = all(_fits(field.type, types[field.name], table) for field in kinds if field.name in types)
    return fit and set(KEYS.get(table, ())) <= set(kinds.names)


def unusable(kinds: pa.Schema, table: str) -> list[str]:
    """What is wrong with columns that are read as null, a sentence each."""
    types = _types(table)
    lost = [f for f in kinds if f.name in types and not _widens(_stored(f.type), types[f.name])]
    says = [f"the column {f.name!r} has the type {f.type}, not {types[f.name]}; it is read as null" for f in lost]
    missing = [name for name in KEYS.get(table, ()) if name not in kinds.names]
    return says + [f"the column {name!r} is missing; it is read as null" for name in missing]


def _widens(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """True if every value of a type is a value of the wanted one."""
    same = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, _is_text, _is_list)
    return bool(kind == wanted or any(of(kind) and of(wanted) for of in same) or pa.types.is_null(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    return bool(pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type))


def conformed(rows: pa.Table, table: str, columns: Sequence[str] | None) -> pa.Table:
    """Rows with the types of the schema, and with every key that was asked for."""
    types = _types(table)
    for i, field in enumerate(rows.schema):
        if field.name in types and not _fits(field.type, types[field.name], table):
            rows = rows.set_column(i, field.name, _cast(rows[field.name], types[field.name]))
    for name in KEYS.get(table, ()):
        if name not in rows.column_names and (columns is None or name in columns):
            rows = rows.append_column(name, pa.nulls(len(rows), types[name]))
    return rows


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if _widens(_stored(column.type), wanted):
        try:
            return column.cast(wanted)
        except pa.ArrowException:  # a number that the wanted type does not have
            pass
    return pa.chunked_array([pa.nulls(len(column), wanted)])
