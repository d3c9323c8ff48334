"""Tidy a lake: fewer and larger files, and nothing that no run needs. Safe while others write.

Each step is whole by itself, so a tidy that is killed half-way is finished by the next one. What
another process may be about to use is left alone for a day.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rollscope.store.schema import TABLES

from . import engine, tables
from .objects import Objects
from .place import Place

if TYPE_CHECKING:
    import duckdb

KEEP_SECONDS = 86_400.0  # a push may have stored an object that it has not committed yet
TRIES = 5  # while others ship: a commit to a table makes a deletion from it fail


@dataclass(slots=True)
class Tidied:
    """What a tidy did."""

    files_before: int = 0
    files_after: int = 0
    objects_removed: int = 0
    bytes_removed: int = 0


def tidy(place: Place, keep_seconds: float = KEEP_SECONDS) -> Tidied:
    """Merge small files, remove rows that were replaced, and objects that no file is made of."""
    done = Tidied()
    with engine.connected(place) as connection, engine.waiting(connection, place):
        tables.check_version(connection, place.folder)
        tables.set_storage(connection)  # a lake of an older Rollscope was made without
        done.files_before = _files(connection)
        _remove_rows(connection)
        connection.execute("CALL ducklake_flush_inlined_data('lake')")
        connection.execute("CALL ducklake_merge_adjacent_files('lake')")
        forget(connection, keep_seconds)
        done.files_after = _files(connection)
        needed = {row[0] for row in connection.execute(f"SELECT DISTINCT key FROM ({_HELD})").fetchall()}
    _remove_objects(place, needed, keep_seconds, done)
    return done


# The objects that files are made of now: those of a file that was not gone or replaced later.
_HELD = """
SELECT o.key FROM lake.book.objects o ANTI JOIN lake.book.objects later
ON later.run = o.run AND later.name = o.name AND later.kind IN ('gone', 'whole')
AND (later.ship > o.ship) WHERE o.kind <> 'gone'
"""


# A part that covers no log may be dropped without another that has its samples: then those count
# again that it replaced.
_REPLACED = """
SELECT * FROM lake.book.replaced ANTI JOIN lake.book.dropped USING (run, part)
ANTI JOIN (FROM lake.book.parts WHERE stem = '') USING (run, part)
"""


def _files(connection: duckdb.DuckDBPyConnection) -> int:
    count: Any = connection.execute("SELECT sum(file_count) FROM ducklake_table_info('lake')").fetchall()[0][0]
    return int(count or 0)


def _remove_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Remove rows that nobody reads any more, then what the book says of them.

    If others ship all the time, what is left is removed next time.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE dead AS {_DROPPED}")
    removed = [_removed(connection, [_dead_rows(name)]) for name in TABLES]
    if all(removed):  # the book hides rows of dropped parts as long as there are any
        _removed(connection, [f"lake.book.{name} x WHERE {_DEAD}" for name in ("replaced", "parts", "dropped")])
    for name, spent in _SPENT.items():
        _removed(connection, [f"lake.book.{name} x WHERE {spent}"])
    connection.execute("DROP TABLE dead")


def _removed(connection: duckdb.DuckDBPyConnection, rows: Sequence[str]) -> bool:
    """Delete rows in one transaction; again if a ship was first. True if they are gone."""
    import duckdb

    for _ in range(TRIES):
        with contextlib.suppress(duckdb.TransactionException):
            connection.execute("BEGIN")
            for some in rows:
                connection.execute(f"DELETE FROM {some}")
            connection.execute("COMMIT")
            return True
    return False


# Parts that were dropped, with the time of the run's first ship: a run that was deleted and pushed
# again meanwhile has parts of the same numbers, which count.
_FIRST = "SELECT run, min(time_ns) AS first FROM lake.book.ships GROUP BY run"
_DROPPED = f"SELECT DISTINCT run, part, first FROM lake.book.dropped JOIN ({_FIRST}) USING (run)"
_DEAD = f"EXISTS (FROM dead d JOIN ({_FIRST}) USING (run, first) WHERE d.run = x.run AND d.part = x.part)"


# What the book says of it makes no difference any more: objects that files are not made of, ships
# between the first and the last of a run, and attempts that a later part tells again.
_SPENT = {
    "objects": (
        "kind <> 'gone' AND EXISTS (FROM lake.book.objects later WHERE later.run = x.run AND later.name = x.name"
        " AND later.kind IN ('gone', 'whole') AND later.ship > x.ship)"
    ),
    "ships": (
        "EXISTS (FROM lake.book.ships other WHERE other.run = x.run AND other.ship < x.ship)"
        " AND EXISTS (FROM lake.book.ships other WHERE other.run = x.run AND other.ship > x.ship)"
    ),
    "resumed": "EXISTS (FROM lake.book.resumed later WHERE later.run = x.run AND later.part > x.part)",
}


def _dead_rows(table: str) -> str:
    """The rows of a table that views leave out for ever."""
    dead = _DEAD
    if table == "samples":
        dead += f" OR EXISTS (FROM ({_REPLACED}) p WHERE p.run = x.run AND p.id = x.id AND p.part > x.part)"
    if table == "runs":
        dead = "EXISTS (FROM lake.rows.runs later WHERE later.run = x.run AND later.part > x.part)"
    return f"lake.rows.{table} x WHERE {dead}"


def forget(connection: duckdb.DuckDBPyConnection, keep_seconds: float) -> None:
    """Remove what only older states of the tables need."""
    before = f"now() - INTERVAL '{keep_seconds:.0f} seconds'"
    connection.execute(f"CALL ducklake_expire_snapshots('lake', older_than => {before})")
    connection.execute(f"CALL ducklake_cleanup_old_files('lake', older_than => {before})")
    connection.execute(f"CALL ducklake_delete_orphaned_files('lake', older_than => {before})")


def _remove_objects(place: Place, needed: set[str], keep_seconds: float, done: Tidied) -> None:
    """Remove objects that no file is made of, once they are old enough."""
    objects, oldest = Objects(place), time.time() - keep_seconds
    for key, (size, changed) in objects.keys("runs").items():
        if key not in needed and changed < oldest:
            objects.delete(key)
            done.objects_removed += 1
            done.bytes_removed += size
