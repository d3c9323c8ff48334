"""Columns of a table with its words as numbers into a dictionary, as Parquet has them.

A million words take a tenth of the time that a million texts take, and far less memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.sealed.parquet import WORDS

from .tables import alive, known

NEEDED = ("attempt", "step")  # columns that say which rows count


def read(folder: Folder, name: str, columns: Sequence[str]) -> pa.Table:
    """Some narrow columns of all rows that count, in the order they were recorded."""
    wanted = known(name, [*columns, *NEEDED])
    files = [sealed.files[f"{name}.parquet"] for sealed in folder.sets if f"{name}.parquet" in sealed.files]
    parts = [file.read_coded(wanted) for file in files]
    parts += [part for tail in folder.tails.values() for part in tail.tables(name)]
    schema = _schema(name, wanted)
    rows = pa.concat_tables([_conformed(part, schema) for part in parts] or [schema.empty_table()])
    return alive(folder, rows.unify_dictionaries())


def _schema(name: str, columns: Sequence[str]) -> pa.Schema:
    own = arrow.schema(arrow.fields(name))
    words = pa.dictionary(pa.int32(), arrow.TYPES["string"])
    return pa.schema([pa.field(column, words if column in WORDS else own.field(column).type) for column in columns])


def _conformed(part: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.table([_column(part, field) for field in schema], schema=schema)


def _column(part: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    if field.name not in part.column_names:
        return pa.nulls(len(part), field.type)
    column = part[field.name]
    if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return column if column.type == field.type else column.cast(field.type)
