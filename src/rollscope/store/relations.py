"""The tables of one or more runs as DuckDB views, for SQL: what is sealed where it lies, what is live as it stands now.

A sealed file is checked before DuckDB sees it, since it would read flipped bits without a word; of a set that does not hold, the row groups
that do are handed over instead. Text is joined only when the query asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import arrow, metric_table, sample_rows, sql, state, tables
from .folder import Folder
from .schema import TABLES
from .sealed import File, Sealed

if TYPE_CHECKING:
    import duckdb

MANY = 10_000
BIG = {column.name for column in TABLES["samples"] if column.big}


@dataclass(slots=True)
class View:
    """One view in the making: queries over sealed files, tables for the rest, and the files DuckDB may open."""

    queries: list[str] = field(default_factory=list)
    live: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def scan(self, file: File, more: str = "") -> str:
        self.files.append(file.path)
        return f"read_parquet({_text(file.path)}{more})"


def ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float) -> pa.Table:
    connection = sql.connect()
    try:
        sql.check(connection, query)
        words = set(re.findall(r"\w+", query.lower()))
        text = bool(BIG & words) or "*" in query.replace("count(*)", "") or "from samples" in query.lower().split("select")[0]
        files = []
        for name in TABLES:
            if name in words:
                files += _register(connection, folders, name, text)
        sql.lock(connection, files)
        return sql.ask(connection, query, parameters, seconds)
    finally:
        connection.close()


def _register(connection: duckdb.DuckDBPyConnection, folders: Sequence[Folder], name: str, text: bool) -> list[str]:
    """Make the view; the files it reads."""
    view = View()
    for folder in folders:
        _add(view, folder, name, text)
    columns = ", ".join(f'"{column.name}"' for column in TABLES[name])
    connection.register(f"live {name}", pa.concat_tables(view.live) if view.live else arrow.schema(TABLES[name]).empty_table())
    connection.execute(f'CREATE VIEW {name} AS SELECT {columns} FROM ({" UNION ALL BY NAME ".join([*view.queries, f"""SELECT * FROM "live {name}" """])})')
    return view.files


def _add(view: View, folder: Folder, name: str, text: bool) -> None:
    if name == "runs":
        view.live.append(pa.Table.from_pylist([state.row(folder)], arrow.schema(TABLES[name])))
    elif name == "metrics":
        _add_metrics(view, folder)
    elif name == "samples":
        _add_samples(view, folder, text)
    else:
        view.live.append(arrow.whole(tables.whole(folder, name, None), TABLES[name]))


def _add_metrics(view: View, folder: Folder) -> None:
    """Every row as it was written: one per writer and call, of every attempt."""
    view.live += [metric_table.table(tail.metrics.everything(), folder.words, folder.name) for tail in folder.tails.values()]
    for piece in folder.sets:
        file = piece.files.get("metrics.parquet")
        if file is not None and file.sound():
            view.queries.append(f"SELECT * FROM {view.scan(file)}")
        elif file is not None:
            view.live.append(arrow.whole(file.read(), TABLES["metrics"]))


def _add_samples(view: View, folder: Folder, text: bool) -> None:
    """Samples that lie in one file, from there; those that do not, and those of live logs, put together."""
    sets = [piece for piece in folder.sets if "samples.parquet" in piece.files]
    sound = [piece for piece in sets if piece.files["samples.parquet"].sound() and (not text or piece.files["samples.text.parquet"].sound())]
    several = sample_rows.repeated_ids(folder)
    if len(several) > MANY:  # two processes that write about every sample, not merged yet: all are put together here
        sound, several = [], []
    where = " AND ".join([f"(step IS NULL OR attempt >= {newer} OR step < {first})" for newer, first in folder.resumed.items()] or ["true"])
    if several:
        where += f" AND (id IS NULL OR id NOT IN ({', '.join(map(_text, several))}))"
    view.queries += [f"SELECT {_text(folder.name)} AS run, * EXCLUDE (run) FROM ({_joined(view, piece, text)}) WHERE {where}" for piece in sound]
    rest = [piece for piece in sets if piece not in sound]
    live = sample_rows.read(folder, only=rest)
    if several:
        live = pa.concat_tables(
            [live.filter(pa.compute.invert(pa.compute.is_in(live["id"], pa.array(several, pa.large_string())))), sample_rows.read(folder, ids=several)]
        )
    view.live.append(arrow.whole(live, TABLES["samples"]))


def _joined(view: View, piece: Sealed, text: bool) -> str:
    """A set's samples, with their text if it matters: row i of one file belongs to row i of the other."""
    narrow, big = piece.files["samples.parquet"], piece.files["samples.text.parquet"]
    columns = [f'"{name}"' for name in big.columns & BIG]
    run = "" if "run" in narrow.columns else "NULL AS run, "
    if not text or not columns:
        return f"SELECT {run}* FROM {view.scan(narrow)}"
    number = ", file_row_number = true"
    return f"SELECT {run}n.* EXCLUDE (file_row_number), {', '.join(columns)} FROM {view.scan(narrow, number)} n JOIN {view.scan(big, number)} t ON n.file_row_number = t.file_row_number"


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
