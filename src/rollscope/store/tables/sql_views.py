"""The tables of one or more runs as DuckDB views: sealed files in place, live rows from memory.

A sealed file is checked before DuckDB opens it, since DuckDB would silently read flipped bits; of a
damaged file, the row groups that pass their checksum are registered instead. Text is joined only if
the query needs it. If some row has an escaped lone surrogate, the view has a column `escaped`, and
an answer that selects it is unescaped.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput
from rollscope.store import arguments, arrow, state
from rollscope.store.folder import Folder
from rollscope.store.schema import TABLES
from rollscope.store.sealed import metric_table
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from . import metric_function, sample_rows, sql, tables
from .metric_function import Read

if TYPE_CHECKING:
    import duckdb

MANY = 10_000  # ids to exclude by SQL; more are folded in memory
BIG = {column.name for column in TABLES["samples"] if column.big}
NO_TEXT = "rollscope has left the text of samples out"  # a query that fails so is run again with text
SQL_TYPES = {
    "string": "VARCHAR",
    "json": "VARCHAR",
    "int64[]": "BIGINT[]",
    "float32[]": "FLOAT[]",
    "float64[]": "DOUBLE[]",
}


@dataclass(slots=True)
class View:
    """The parts of one view: queries over sealed files, tables in memory, and the files to open."""

    queries: list[str] = field(default_factory=list)
    live: list[pa.Table] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    flagged: bool = False  # some row has an escaped text

    def scan(self, file: SealedFile, more: str = "") -> str:
        self.files.append(file.path)
        self.flagged |= file.may_have_escapes
        return f"read_parquet({sql.quoted(file.path)}{more})"


def ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float, metric: Read) -> pa.Table:
    """The answer. Text is joined only if the query turns out to need it.

    `metric` reads the series of a name, for the function `metric('name')`.
    """
    try:
        return _ask(folders, query, parameters, seconds, metric, _needs_text(query))
    except BadInput as error:
        if NO_TEXT not in str(error):
            raise
    return _ask(folders, query, parameters, seconds, metric, True)


def _ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float, metric: Read, text: bool) -> pa.Table:
    files: list[str] = []
    with sql.connected() as connection, _naming_lost(files):
        sql.check(connection, query)
        metric_function.register(connection, query, parameters, metric)
        _prepare(connection, folders, query, text, files)
        return sql.ask(connection, query, parameters, seconds)


def stream(folders: Sequence[Folder], query: str, seconds: float) -> Generator[pa.Schema | pa.RecordBatch]:
    """Yield the schema of an answer of any size, then its batches."""
    files: list[str] = []
    with sql.connected() as connection:
        with _naming_lost(files):
            sql.check(connection, query)
            _prepare(connection, folders, query, True, files)
            schema, batches = sql.stream(connection, query, None, seconds)
        with closing(batches):  # while the connection is open
            yield schema
            yield from batches


@contextmanager
def _naming_lost(files: list[str]) -> Iterator[None]:
    """Raise FileNotFoundError for a query that failed because compaction removed one of its files.

    DuckDB then speaks of a permission or of an input error, and the caller must ask again.
    """
    import duckdb

    try:
        yield
    except (BadInput, duckdb.Error) as error:
        for path in files:
            if not os.path.exists(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"the query failed: {error}") from error


def _needs_text(query: str) -> bool:
    """True if the query surely reads text. If this misses it, the query fails and runs again."""
    return bool(BIG & _words(query)) or "*" in query.replace("count(*)", "")


def _words(query: str) -> set[str]:
    return set(re.findall(r"\w+", arguments.text("a query", query).lower()))


def _prepare(
    connection: duckdb.DuckDBPyConnection, folders: Sequence[Folder], query: str, text: bool, files: list[str]
) -> None:
    """Make views of the tables that the query names, then lock the connection.

    `files` receives every file that a view reads, before DuckDB opens it.
    """
    words = _words(query)
    for name in TABLES:
        if name in words:
            _register(connection, folders, name, text, arrow.ESCAPED in words, files)
    sql.lock(connection, files)


def _register(
    connection: duckdb.DuckDBPyConnection,
    folders: Sequence[Folder],
    name: str,
    text: bool,
    flags: bool,
    files: list[str],
) -> None:
    """Make a view, and add the files that it reads to `files`.

    It has the column `escaped` if some row has one, or if `flags` is true.
    """
    view = View(flagged=flags)
    for folder in folders:
        _add(view, folder, name, text)
    files += view.files
    live = pa.concat_tables(view.live) if view.live else arrow.schema(TABLES[name]).empty_table()
    connection.register(f"live {name}", live)
    columns = [column.name for column in TABLES[name]]
    if view.flagged or live[arrow.ESCAPED].null_count < len(live):
        columns.append(arrow.ESCAPED)
    listed = ", ".join(f'"{column}"' for column in columns)
    union = " UNION ALL BY NAME ".join([*view.queries, f'SELECT * FROM "live {name}"'])
    connection.execute(f"CREATE VIEW {name} AS SELECT {listed} FROM ({union})")


def _add(view: View, folder: Folder, name: str, text: bool) -> None:
    if name == "runs":
        view.live.append(pa.Table.from_pylist([escaped(state.row(folder))], arrow.schema(TABLES[name])))
    elif name == "metrics":
        _add_metrics(view, folder)
    elif name == "samples":
        _add_samples(view, folder, text)
    else:
        view.live.append(arrow.conformed(tables.read(folder, name, None), TABLES[name]))


def escaped(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its lone surrogates escaped, as in stored tables."""
    names = [name for name, value in row.items() if isinstance(value, str) and arrow.strings([value])[1]]
    return {**row, **{name: arrow.escape(row[name]) for name in names}, arrow.ESCAPED: ",".join(names) or None}


def _add_metrics(view: View, folder: Folder) -> None:
    """Every row as it was written: one per writer and call, of every attempt."""
    for tail in folder.tails.values():
        view.live.append(metric_table.table(tail.metrics.everything(), folder.words, folder.name))
    for sealed in folder.sets:
        file = sealed.files.get("metrics.parquet")
        if file is not None and file.is_sound():
            view.queries.append(f"SELECT * FROM {view.scan(file)}")
        elif file is not None:
            view.live.append(arrow.conformed(file.read(), TABLES["metrics"]))


def _add_samples(view: View, folder: Folder, text: bool) -> None:
    """Samples with one row are read from their file; others and live ones are folded here."""
    sets = [sealed for sealed in folder.sets if "samples.parquet" in sealed.files]
    sound = [sealed for sealed in sets if _is_sound(sealed, text)]
    repeated = sample_rows.repeated_ids(folder)
    if len(repeated) > MANY:  # two processes write every sample and nothing is merged yet: fold all
        sound, repeated = [], []
    where = _condition(folder, repeated)
    for sealed in sound:
        samples = _joined(view, sealed, text)
        view.queries.append(f"SELECT {sql.quoted(folder.name)} AS run, * EXCLUDE (run) FROM ({samples}) WHERE {where}")
    live = sample_rows.read(folder, only=[sealed for sealed in sets if sealed not in sound])
    if repeated:
        once = live.filter(pc.invert(pc.is_in(live["id"], pa.array(repeated, pa.large_string()))))
        live = pa.concat_tables([once, sample_rows.read(folder, ids=repeated)])
    view.live.append(arrow.conformed(live, TABLES["samples"]))


def _is_sound(sealed: SealedSet, text: bool) -> bool:
    return sealed.files["samples.parquet"].is_sound() and (not text or sealed.files["samples.text.parquet"].is_sound())


def _condition(folder: Folder, repeated: list[str]) -> str:
    """SQL that drops rows of abandoned attempts, and samples that have several rows."""
    resumed = folder.resumed.items()
    conditions = [f"(step IS NULL OR attempt >= {newer} OR step < {first})" for newer, first in resumed]
    if repeated:
        conditions.append(f"(id IS NULL OR id NOT IN ({', '.join(map(sql.quoted, repeated))}))")
    return " AND ".join(conditions or ["true"])


def _joined(view: View, sealed: SealedSet, text: bool) -> str:
    """SQL for the samples of a set, with text if needed: row i is the same in both files."""
    narrow, big = sealed.files["samples.parquet"], sealed.files["samples.text.parquet"]
    columns = [f'"{name}"' for name in big.columns & BIG]
    run = "" if "run" in narrow.columns else "NULL AS run, "
    if not columns:
        return f"SELECT {run}* FROM {view.scan(narrow)}"
    if not text:  # reading a text column raises an error
        missing = [c for c in TABLES["samples"] if c.name in big.columns & BIG]
        errors = [f'error({sql.quoted(NO_TEXT)})::{SQL_TYPES[c.type]} AS "{c.name}"' for c in missing]
        return f"SELECT {run}*, {', '.join(errors)} FROM {view.scan(narrow)}"
    number = ", file_row_number = true"
    return (
        f"SELECT {run}n.* EXCLUDE (file_row_number), {', '.join(columns)}"
        f" FROM {view.scan(narrow, number)} n JOIN {view.scan(big, number)} t"
        " ON n.file_row_number = t.file_row_number"
    )
