"""The tables of one or more runs as DuckDB views, for SQL: what is sealed where it lies, what is live as it stands now.

A sealed file is checked before DuckDB sees it, since it would read flipped bits without a word; of a set that does not hold, the row groups
that do are handed over instead. Text is joined only when the query asks for it. Where a lone surrogate had to be escaped, the view has a column
`escaped`, and an answer that carries it is unescaped on its way out.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput
from rollscope.store import arguments, arrow, state
from rollscope.store.folder import Folder
from rollscope.store.schema import TABLES
from rollscope.store.sealed import metric_table
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from . import sample_rows, sql, tables

if TYPE_CHECKING:
    import duckdb

MANY = 10_000
BIG = {column.name for column in TABLES["samples"] if column.big}
NO_TEXT = "rollscope has left the text of samples out"
SQL_TYPES = {
    "string": "VARCHAR",
    "json": "VARCHAR",
    "int64[]": "BIGINT[]",
    "float32[]": "FLOAT[]",
    "float64[]": "DOUBLE[]",
}


@dataclass(slots=True)
class View:
    """One view in the making: queries over sealed files, tables for the rest, and the files DuckDB may open."""

    queries: list[str] = field(default_factory=list)
    live: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    flagged: bool = False  # some row has an escaped text

    def scan(self, file: SealedFile, more: str = "") -> str:
        self.files.append(file.path)
        self.flagged |= file.may_have_escapes
        return f"read_parquet({_text(file.path)}{more})"


def ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float) -> pa.Table:
    """The answer. Text is joined only to questions that turn out to need it."""
    with sql.connected() as connection:
        _prepare(connection, folders, query, _asks_for_text(query))
        try:
            return sql.ask(connection, query, parameters, seconds)
        except BadInput as error:
            if NO_TEXT not in str(error):
                raise
    with sql.connected() as connection:
        _prepare(connection, folders, query, True)
        return sql.ask(connection, query, parameters, seconds)


def stream(folders: Sequence[Folder], query: str, seconds: float) -> Generator[pa.Schema | pa.RecordBatch]:
    """The schema of an answer of any size, then its batches."""
    with sql.connected() as connection:
        _prepare(connection, folders, query, True)
        schema, batches = sql.stream(connection, query, None, seconds)
        yield schema
        yield from batches


def _asks_for_text(query: str) -> bool:
    """Surely. When it does so in a way that is not seen here, the query fails where it meets a text, and is asked again with all of it."""
    return bool(BIG & _words(query)) or "*" in query.replace("count(*)", "")


def _words(query: str) -> set[str]:
    return set(re.findall(r"\w+", arguments.text("a query", query).lower()))


def _prepare(connection: duckdb.DuckDBPyConnection, folders: Sequence[Folder], query: str, text: bool) -> None:
    """Views of the tables that the query names; after that the connection sees nothing else."""
    sql.check(connection, query)
    words, files = _words(query), []
    for name in TABLES:
        if name in words:
            files += _register(connection, folders, name, text, arrow.ESCAPED in words)
    sql.lock(connection, files)


def _register(
    connection: duckdb.DuckDBPyConnection, folders: Sequence[Folder], name: str, text: bool, flags: bool
) -> list[str]:
    """Make the view; the files it reads. It has the column `escaped` when some row has something in it, or when it is asked for."""
    view = View(flagged=flags)
    for folder in folders:
        _add(view, folder, name, text)
    live = pa.concat_tables(view.live) if view.live else arrow.schema(TABLES[name]).empty_table()
    flagged = view.flagged or live[arrow.ESCAPED].null_count < len(live)
    columns = ", ".join(
        f'"{column}"' for column in [*(column.name for column in TABLES[name]), *([arrow.ESCAPED] if flagged else [])]
    )
    connection.register(f"live {name}", live)
    connection.execute(
        f'CREATE VIEW {name} AS SELECT {columns} FROM ({" UNION ALL BY NAME ".join([*view.queries, f"""SELECT * FROM "live {name}" """])})'
    )
    return view.files


def _add(view: View, folder: Folder, name: str, text: bool) -> None:
    if name == "runs":
        view.live.append(pa.Table.from_pylist([_escaped(state.row(folder))], arrow.schema(TABLES[name])))
    elif name == "metrics":
        _add_metrics(view, folder)
    elif name == "samples":
        _add_samples(view, folder, text)
    else:
        view.live.append(arrow.conformed(tables.whole(folder, name, None), TABLES[name]))


def _escaped(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its lone surrogates written as the tables write them."""
    odd = [name for name, value in row.items() if isinstance(value, str) and arrow.strings([value])[1]]
    return {**row, **{name: arrow.escape(row[name]) for name in odd}, arrow.ESCAPED: ",".join(odd) or None}


def _add_metrics(view: View, folder: Folder) -> None:
    """Every row as it was written: one per writer and call, of every attempt."""
    view.live += [
        metric_table.table(tail.metrics.everything(), folder.words, folder.name) for tail in folder.tails.values()
    ]
    for piece in folder.sets:
        file = piece.files.get("metrics.parquet")
        if file is not None and file.is_sound():
            view.queries.append(f"SELECT * FROM {view.scan(file)}")
        elif file is not None:
            view.live.append(arrow.conformed(file.read(), TABLES["metrics"]))


def _add_samples(view: View, folder: Folder, text: bool) -> None:
    """Samples that lie in one file, from there; those that do not, and those of live logs, put together."""
    sets = [piece for piece in folder.sets if "samples.parquet" in piece.files]
    sound = [
        piece
        for piece in sets
        if piece.files["samples.parquet"].is_sound() and (not text or piece.files["samples.text.parquet"].is_sound())
    ]
    several = sample_rows.repeated_ids(folder)
    if len(several) > MANY:  # two processes that write about every sample, not merged yet: all are put together here
        sound, several = [], []
    where = " AND ".join(
        [f"(step IS NULL OR attempt >= {newer} OR step < {first})" for newer, first in folder.resumed.items()]
        or ["true"]
    )
    if several:
        where += f" AND (id IS NULL OR id NOT IN ({', '.join(map(_text, several))}))"
    view.queries += [
        f"SELECT {_text(folder.name)} AS run, * EXCLUDE (run) FROM ({_joined(view, piece, text)}) WHERE {where}"
        for piece in sound
    ]
    rest = [piece for piece in sets if piece not in sound]
    live = sample_rows.read(folder, only=rest)
    if several:
        live = pa.concat_tables(
            [
                live.filter(pa.compute.invert(pa.compute.is_in(live["id"], pa.array(several, pa.large_string())))),
                sample_rows.read(folder, ids=several),
            ]
        )
    view.live.append(arrow.conformed(live, TABLES["samples"]))


def _joined(view: View, piece: SealedSet, text: bool) -> str:
    """A set's samples, with their text if it matters: row i of one file belongs to row i of the other."""
    narrow, big = piece.files["samples.parquet"], piece.files["samples.text.parquet"]
    columns = [f'"{name}"' for name in big.columns & BIG]
    run = "" if "run" in narrow.columns else "NULL AS run, "
    if not columns:
        return f"SELECT {run}* FROM {view.scan(narrow)}"
    if not text:  # whoever looks at one after all is told so
        missing = ", ".join(
            f'error({_text(NO_TEXT)})::{SQL_TYPES[c.type]} AS "{c.name}"'
            for c in TABLES["samples"]
            if c.name in big.columns & BIG
        )
        return f"SELECT {run}*, {missing} FROM {view.scan(narrow)}"
    number = ", file_row_number = true"
    return f"SELECT {run}n.* EXCLUDE (file_row_number), {', '.join(columns)} FROM {view.scan(narrow, number)} n JOIN {view.scan(big, number)} t ON n.file_row_number = t.file_row_number"


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
