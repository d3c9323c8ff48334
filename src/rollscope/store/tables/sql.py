"""Questions in SQL, and nothing but questions.

One statement of a kind on the list is taken; DuckDB itself is locked (no files but the run's own, no network, no settings), has few
threads, little memory and a deadline. A reader must not take more than its share of the machine somebody trains on.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput
from rollscope.store import arguments
from rollscope.store.arrow import THREADS

if TYPE_CHECKING:  # imported, like folders to spill to, when a question is asked in SQL: a series needs none of it
    import duckdb

MEMORY = "1GB"
SPILLED = "4GB"
SECONDS = 30.0
ANSWER_BYTES = 1 << 30
_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?(\([^()]*\)\s*)?", re.IGNORECASE)
ROWS = 50_000  # of an answer at a time
Batches = Generator[Any]


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own, with a private folder to spill to, which is gone afterwards."""
    import shutil

    import duckdb

    aside = _private_folder()
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": str(THREADS),
            "memory_limit": MEMORY,
            "temp_directory": aside,
            "max_temp_directory_size": SPILLED,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    try:
        yield connection
    finally:
        connection.close()
        if aside:
            shutil.rmtree(aside, ignore_errors=True)


def _private_folder() -> str:
    """Empty where there is no place for one: then nothing is spilled, and a question that needs more memory fails."""
    import tempfile

    try:
        return tempfile.mkdtemp(prefix="rollscope-")
    except OSError:
        return ""


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """From here on the connection reads what it has been given, and these files, and no more."""
    if files:
        connection.execute(
            "SET allowed_paths = [" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]"
        )
    connection.execute("SET enable_external_access = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Exactly one statement, and one that reads."""
    import duckdb

    try:
        statements = connection.extract_statements(arguments.text("a query", query))
    except duckdb.Error as error:
        raise BadInput(f"that is not SQL we can read: {error}") from error
    if len(statements) != 1:
        raise BadInput(f"a query is one statement, and this is {len(statements)}. Ask them one at a time.")
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:  # with ANALYZE, what it explains is done
        if not (found := _EXPLAIN.match(query)):
            raise BadInput("EXPLAIN must be the first word of a query, before any comment.")
        return check(connection, query[found.end() :])
    if kind != duckdb.StatementType.SELECT:
        raise BadInput(f"only questions are allowed (SELECT, WITH, FROM, DESCRIBE, EXPLAIN), not {kind.name}.")


def ask(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None, seconds: float = SECONDS
) -> pa.Table:
    """The answer as an Arrow table, or a sentence about why there is none."""
    schema, found = stream(connection, query, parameters, seconds)
    batches, size = [], 0
    for batch in found:
        size += batch.nbytes
        if size > ANSWER_BYTES:
            found.close()
            raise BadInput(
                f"the answer is larger than {ANSWER_BYTES >> 20} MB. Ask for fewer rows or columns (LIMIT, or an aggregate), or export the table."
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, schema)


def stream(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None, seconds: float = SECONDS
) -> tuple[pa.Schema, Batches]:
    """The answer as it comes: its schema and its batches. Closing the batches ends the query."""
    check(connection, query)
    found = _stream(connection, query, parameters, seconds)
    first = next(found)
    assert isinstance(first, pa.Schema)
    return first, found


def _stream(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any, seconds: float) -> Batches:
    import duckdb

    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        reader = connection.sql(query, params=parameters).to_arrow_reader(ROWS)
        yield reader.schema
        yield from reader
    except GeneratorExit:
        connection.interrupt()
        raise
    except (
        duckdb.Error,
        pa.ArrowException,
        OSError,
    ) as error:  # what DuckDB raises while a batch is made comes as Arrow's
        if late.is_set():
            raise BadInput(
                f"the query ran longer than {seconds:g} s and was stopped. Ask for fewer rows, or give more seconds."
            ) from error
        raise BadInput(f"the query failed: {error}") from error
    finally:
        timer.cancel()


def choose(rows: pa.Table, where: str | None, order_by: str | None, limit: int | None) -> pa.Table:
    """Rows of an Arrow table that fit a condition, in an order. Both are SQL over its columns."""
    with connected() as connection:
        connection.register("rows", rows)
        lock(connection)
        query = (
            "SELECT * FROM rows"
            + (f" WHERE ({where})" if where else "")
            + (f" ORDER BY {order_by}" if order_by else "")
            + (f" LIMIT {int(limit)}" if limit is not None else "")
        )
        return ask(connection, query)
