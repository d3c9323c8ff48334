"""PostgreSQL through DuckDB's extension, for tables that are no part of the lake's."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from rollscope.lake import engine, keys
from rollscope.lake.engine import LakeUnreachable
from rollscope.lake.place import Place
from rollscope.store.tables.sql import quoted

if TYPE_CHECKING:
    import duckdb

TRIES = 10  # of a write that another server's write came before


class Postgres:
    """The database of a lake's catalogue. Threads may use it at once. `what` it is asked for."""

    def __init__(self, place: Place, what: str) -> None:
        self.written = 0  # statements of this process
        self._place, self._what = place, f"{what} of the lake {place.folder!r} at {place.catalog}"
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def read(self, query: str) -> list[tuple[Any, ...]]:
        return self._asked("SELECT * FROM postgres_query('pg', ?)", query)

    def write(self, statement: str) -> None:
        """Execute statements in one transaction."""
        for _ in range(TRIES):
            try:
                self._asked("CALL postgres_execute('pg', ?)", statement)
                self.written += 1
                return
            except _Again:
                continue
        raise LakeUnreachable(f"{self._what} are written to all the time: try again in a moment")

    def _asked(self, call: str, statement: str) -> list[tuple[Any, ...]]:
        import duckdb

        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _connected(self._place)
                return self._connection.execute(call, [statement]).fetchall()
            except duckdb.Error as error:
                self._connection = None  # PostgreSQL may have been restarted
                raise self._sentence(str(error)) from None

    def _sentence(self, why: str) -> Exception:
        """An error of PostgreSQL without the statement, which may name people."""
        if "could not serialize" in why:
            return _Again()
        _, found, rest = why.partition("ERROR:")
        short = " ".join(keys.without(rest if found else why.partition("\n")[0]).split())[:200]
        return LakeUnreachable(
            f"{self._what} cannot be used: {short}. Does PostgreSQL run, and are PGUSER and PGPASSWORD"
            " (or ~/.pgpass) right?"
        )


class _Again(Exception):
    """Another server's write came before ours."""


def _connected(place: Place) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "threads": "1"})
    connection.execute(f"LOAD {quoted(engine.extension('postgres_scanner'))}")
    connection.execute(f"ATTACH {quoted(engine.libpq(place))} AS pg (TYPE postgres)")
    return connection


def text(value: str) -> str:
    """A text as PostgreSQL writes it, which knows neither NUL nor half a character."""
    clean = value.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    escaped = clean.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
