"""Delete a run from a lake for good: its rows, its objects, and what older states held of it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from rollscope.errors import MachineBusy, NotFound
from rollscope.store.schema import TABLES

from . import engine, tables, tidy
from .objects import Objects
from .place import Place

if TYPE_CHECKING:
    import duckdb

TRIES = 20  # while others ship


def delete(place: Place, run: str) -> int:
    """Delete a run; return how many objects were removed.

    The run leaves the tables first. So if this is killed, nobody reads half a run, and the next
    call removes the rest.
    """
    objects = Objects(place)
    keys = [key for key in objects.keys("runs") if key.split("/")[2] == quote(run, safe="")]
    with engine.exclusively(place, run) as connection:
        tables.check_version(connection, place.folder)
        tables.upgrade(connection)
        known = connection.execute("SELECT count(*) FROM lake.book.ships WHERE run = ?", [run]).fetchall()[0][0]
        if not known and not keys:
            raise NotFound(f"the lake {place.folder!r} has no run {run[:80]!r}. List its runs: rollscope ls --dir LAKE")
        _delete_rows(connection, run)
        tidy.forget(connection, 0)
    for prefix in {"/".join(key.split("/")[:3]) for key in keys}:
        objects.delete_below(prefix)
    return len(keys)


def _delete_rows(connection: duckdb.DuckDBPyConnection, run: str) -> None:
    """Delete every row of a run in one transaction; again if somebody else's commit was first."""
    import duckdb

    for _ in range(TRIES):
        try:
            connection.execute("BEGIN")
            for table in [*(f"rows.{name}" for name in TABLES), *(f"book.{name}" for name in tables.OF_RUNS)]:
                connection.execute(f"DELETE FROM lake.{table} WHERE run = ?", [run])
            connection.execute("COMMIT")
            return
        except duckdb.TransactionException:
            continue
    raise MachineBusy(f"others ship to the lake all the time, so {run!r} could not be deleted: try again in a moment")
