"""Read-only SQL.

A query is one statement that reads. DuckDB is locked: no files but the run's own, no network, no
settings. It gets few threads, little memory and a deadline, since training may run on the machine.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput, MachineBusy, RollscopeError
from rollscope.store import arguments, arrow
from rollscope.store.arrow import THREADS

from . import spill

if TYPE_CHECKING:  # imported by the first query: a series does not need it
    import duckdb

MEMORY = "1GB"
SPILLED = "4GB"
SECONDS = 30.0
ANSWER_BYTES = 1 << 30
_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?(\([^()]*\)\s*)?", re.IGNORECASE)
ROWS = 50_000  # per batch of an answer
STARVED = 0.2  # of its time on a processor: a query that had less was slow because the machine is busy
Batches = Generator[Any]


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A new connection with a private folder to spill to, which is removed afterwards."""
    import duckdb

    with spill.folder() as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "threads": str(THREADS),
            "memory_limit": MEMORY,
            "temp_directory": os.path.join(folder, "files") if folder else "",
            "max_temp_directory_size": SPILLED,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        connection = duckdb.connect(":memory:", config=config)
        try:
            yield connection
        finally:
            connection.close()


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """Restrict the connection to its registered tables and to these files."""
    if files:
        connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Reject everything but one statement that reads."""
    import duckdb

    try:
        statements = connection.extract_statements(arguments.text("a query", query))
    except duckdb.Error as error:
        raise BadInput(f"that is not SQL we can read: {error}") from error
    if len(statements) != 1:
        raise BadInput(f"a query is one statement, and this is {len(statements)}. Ask them one at a time.")
    kind = statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:  # with ANALYZE, the explained statement runs
        if not (match := _EXPLAIN.match(query)):
            raise BadInput("EXPLAIN must be the first word of a query, before any comment.")
        return check(connection, query[match.end() :])
    if kind != duckdb.StatementType.SELECT:
        raise BadInput(f"only questions are allowed (SELECT, WITH, FROM, DESCRIBE, EXPLAIN), not {kind.name}.")


def ask(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None, seconds: float = SECONDS
) -> pa.Table:
    """The answer as an Arrow table. Raises BadInput if the query fails, is late or too large."""
    schema, batches = stream(connection, query, parameters, seconds)
    answer, size = [], 0
    for batch in batches:
        size += batch.nbytes
        if size > ANSWER_BYTES:
            batches.close()
            raise BadInput(
                f"the answer is larger than {ANSWER_BYTES >> 20} MB."
                " Ask for fewer rows or columns (LIMIT, or an aggregate), or export the table."
            )
        answer.append(batch)
    return pa.Table.from_batches(answer, schema)


def stream(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None, seconds: float = SECONDS
) -> tuple[pa.Schema, Batches]:
    """The schema of the answer, and its batches as they come. Close them to end the query."""
    check(connection, query)
    batches = _stream(connection, query, parameters, seconds)
    schema = next(batches)
    assert isinstance(schema, pa.Schema)
    return schema, batches


def _stream(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any, seconds: float) -> Batches:
    import duckdb

    late = threading.Event()
    worked = time.process_time()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        reader = in_batches(connection.sql(query, params=parameters))
        yield reader.schema
        yield from reader
    except GeneratorExit:
        connection.interrupt()
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # Arrow wraps DuckDB's errors inside a batch
        if late.is_set():
            raise too_late(seconds, time.process_time() - worked) from error
        raise BadInput(f"the query failed: {error}") from error
    finally:
        timer.cancel()


def columns(answer: pa.Table) -> arrow.Columns:
    """The answer as numpy arrays. A name that comes again gets a number: a, a_1."""
    answer = answer.rename_columns(_each_once(answer.column_names))
    try:
        return arrow.numpy(answer, {}, ours=[arrow.ESCAPED])
    except (ValueError, pa.ArrowException) as error:
        raise BadInput(
            f"the answer has a value that Python cannot hold: {str(error).rstrip('.')}."
            " Make it a text in the query: CAST(x AS VARCHAR), or ask with as_arrow=True."
        ) from error


def _each_once(names: Sequence[str]) -> list[str]:
    once: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{i}" if i else name for i in count())
        once[next(new for new in numbered if new not in once)] = None
    return list(once)


def too_late(seconds: float, worked: float | None) -> RollscopeError:
    """Why a query was stopped after `seconds`, of which a processor `worked` on it, if known."""
    if worked is not None and worked < STARVED * seconds:
        return MachineBusy(
            f"the query had {worked:.1f} s of a processor in {seconds:g} s and was stopped: the machine or its disk"
            " is busy with other work. Ask again in a moment."
        )
    return BadInput(
        f"the query ran longer than {seconds:g} s and was stopped. Ask for fewer rows, or give more seconds."
    )


def in_batches(answer: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """The answer in batches. DuckDB before 1.5 has the method under an older name."""
    read = getattr(answer, "to_arrow_reader", None) or answer.fetch_arrow_reader
    return read(ROWS)


def choose(rows: pa.Table, where: str | None, order_by: str | None, limit: int | None) -> pa.Table:
    """Rows of an Arrow table that meet a condition, in an order. Both are SQL over its columns."""
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
