"""Questions in SQL, and nothing but questions.

One statement of a kind on the list is taken; DuckDB itself is locked (no files but the run's own, no network, no settings), has few
threads, little memory and a deadline. A reader must not take more than its share of the machine somebody trains on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rollscope.errors import BadInput

if TYPE_CHECKING:  # imported when a question is asked in SQL: a series needs none of it
    import duckdb

THREADS = 2
MEMORY = "1GB"
SECONDS = 30.0


def connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "threads": str(THREADS),
            "memory_limit": MEMORY,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )


def lock(connection: duckdb.DuckDBPyConnection, files: Sequence[str] = ()) -> None:
    """From here on the connection reads what it has been given, and these files, and no more."""
    if files:
        connection.execute("SET allowed_paths = [" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Exactly one statement, and one that reads."""
    import duckdb

    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise BadInput(f"that is not SQL we can read: {error}") from error
    if len(statements) != 1:
        raise BadInput(f"a query is one statement, and this is {len(statements)}. Ask them one at a time.")
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise BadInput(f"only questions are allowed (SELECT, WITH, FROM, DESCRIBE, EXPLAIN), not {kind.name}.")


def ask(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None, seconds: float = SECONDS) -> pa.Table:
    """The answer as an Arrow table, or a sentence about why there is none."""
    import duckdb

    check(connection, query)
    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        return connection.sql(query, params=parameters).to_arrow_table()
    except duckdb.InterruptException as error:
        raise BadInput(f"the query ran longer than {seconds:g} s and was stopped. Ask for fewer rows, or give more seconds.") from error
    except duckdb.Error as error:
        raise BadInput(f"the query failed: {error}") from error
    finally:
        timer.cancel()


def choose(rows: pa.Table, where: str | None, order_by: str | None, limit: int | None) -> pa.Table:
    """Rows of an Arrow table that fit a condition, in an order. Both are SQL over its columns."""
    connection = connect()
    try:
        connection.register("rows", rows)
        lock(connection)
        query = (
            "SELECT * FROM rows"
            + (f" WHERE ({where})" if where else "")
            + (f" ORDER BY {order_by}" if order_by else "")
            + (f" LIMIT {int(limit)}" if limit is not None else "")
        )
        return ask(connection, query)
    finally:
        connection.close()
