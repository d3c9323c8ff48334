"""The tables of one or more runs as DuckDB views, for SQL: what is sealed where it lies, what is live as it stands now.

A sealed file is checked before DuckDB sees it, since it would read flipped bits without a word; of a file that does not hold, the row groups
that do are handed over instead. Text is joined only when the query names it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import arrow, metric_table, sample_rows, sql, state, tables
from .folder import Folder
from .schema import TABLES

if TYPE_CHECKING:
    import duckdb


def ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float) -> pa.Table:
    connection = sql.connect()
    try:
        sql.check(connection, query)
        words = set(re.findall(r"\w+", query.lower()))
        for name in TABLES:
            if name in words:
                _register(connection, folders, name, words, query)
        sql.lock(connection, [folder.path for folder in folders])
        return sql.ask(connection, query, parameters, seconds)
    finally:
        connection.close()


def _register(connection: duckdb.DuckDBPyConnection, folders: Sequence[Folder], name: str, words: set[str], query: str) -> None:
    """A view over the sealed files and one over the rest, as one view."""
    paths: list[str] = []
    rest: list[pa.Table] = []
    for folder in folders:
        here, other = _parts(folder, name, words, "*" in query.replace("count(*)", ""))
        paths += here
        rest += other
    columns = ", ".join(f'"{column.name}"' for column in TABLES[name])
    connection.register(f"live {name}", pa.concat_tables(rest) if rest else arrow.schema(TABLES[name]).empty_table())
    files = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    sealed = f"SELECT {columns} FROM read_parquet([{files}]) UNION ALL BY NAME " if paths else ""
    connection.execute(f'CREATE VIEW {name} AS {sealed}SELECT {columns} FROM "live {name}"')


def _parts(folder: Folder, name: str, words: set[str], every: bool) -> tuple[list[str], list[pa.Table]]:
    """Files that DuckDB may read itself, and tables for what it may not."""
    if name == "runs":
        return [], [pa.Table.from_pylist([state.row(folder)], arrow.schema(TABLES[name]))]
    if name == "metrics":
        live = [metric_table.table(tail.metrics.everything(), folder.words, folder.name) for tail in folder.tails.values()]
        sound = [piece.files["metrics.parquet"] for piece in folder.sets if "metrics.parquet" in piece.files]
        return [file.path for file in sound if file.sound()], live + [arrow.whole(file.read(), TABLES[name]) for file in sound if not file.sound()]
    if name == "samples":
        named = None if every else [column.name for column in TABLES[name] if column.name in words]
        return [], [arrow.whole(sample_rows.read(folder, named), TABLES[name])]
    return [], [tables.whole(folder, name, None)]
