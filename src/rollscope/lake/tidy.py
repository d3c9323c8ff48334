"""Tidy a lake: fewer and larger files, and nothing that no run needs. Safe while others write.

Each step is whole by itself, so a tidy that is killed half-way is finished by the next one. What
another process may be about to use is left alone for a day.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rollscope.store.schema import TABLES

from . import engine, tables
from .objects import Objects
from .place import Place

if TYPE_CHECKING:
    import duckdb

KEEP_SECONDS = 86_400.0  # a push may have stored an object that it has not committed yet


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
    with engine.connected(place) as connection:
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

    If somebody else's commit is first, what is left is removed next time.
    """
    import duckdb

    connection.execute("CREATE OR REPLACE TEMP TABLE dead AS SELECT DISTINCT run, part FROM lake.book.dropped")
    with contextlib.suppress(duckdb.TransactionException):
        for name in TABLES:
            _remove_dead(connection, name)
        _shorten_book(connection)
    connection.execute("DROP TABLE dead")


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


def _shorten_book(connection: duckdb.DuckDBPyConnection) -> None:
    """Forget parts whose rows are gone, all at once, and what has no meaning any more."""
    connection.execute("BEGIN")
    for name in ("replaced", "parts", "dropped"):
        dead = "EXISTS (FROM dead WHERE dead.run = x.run AND dead.part = x.part)"
        connection.execute(f"DELETE FROM lake.book.{name} x WHERE {dead}")
    for name, spent in _SPENT.items():
        connection.execute(f"DELETE FROM lake.book.{name} x WHERE {spent}")
    connection.execute("COMMIT")


def _remove_dead(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    """Remove rows that views leave out for ever."""
    dead = "EXISTS (FROM dead d WHERE d.run = x.run AND d.part = x.part)"
    if table == "samples":
        dead += f" OR EXISTS (FROM ({_REPLACED}) p WHERE p.run = x.run AND p.id = x.id AND p.part > x.part)"
    if table == "runs":
        dead = "EXISTS (FROM lake.rows.runs later WHERE later.run = x.run AND later.part > x.part)"
    connection.execute(f"DELETE FROM lake.rows.{table} x WHERE {dead}")


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
