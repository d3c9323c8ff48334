"""Open other people's SQLite files read-only, even while another process writes to them.

A database can hold code: views, triggers, virtual tables. None of it runs. Only plain tables are
read, with three functions, and a statement that needs anything else is refused. A generated column
can only compute, up to `LONGEST`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from rollscope.sources import SourceError

MAGIC = b"SQLite format 3\0"
LONGEST = 64 << 20  # bytes of a text, a blob or a row
FUNCTIONS = {"count", "min", "max"}
PRAGMAS = {"table_info"}
SETTINGS = ("trusted_schema = off", "query_only = on", "cell_size_check = on", "mmap_size = 0", "temp_store = memory")
SHARED, ALONE = "mode=ro&readonly_shm=1", "mode=ro&immutable=1"  # beside a writer, and as if there were none


def is_sqlite(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".db", ".sqlite", ".sqlite3", ".sqlite3db", ""):
        return False
    try:
        with path.open("rb") as file:
            return file.read(16) == MAGIC
    except OSError:
        return False


def connect(path: Path) -> sqlite3.Connection:
    """A connection that reads plain tables and does nothing else. It changes no file."""
    for mode in (ALONE,) if _has_no_log(path) else (SHARED, ALONE):
        try:
            db = _locked(sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True))
            db.execute("select count(*) from sqlite_master").fetchone()
            return db
        except sqlite3.OperationalError:
            continue
        except sqlite3.DatabaseError as error:
            raise SourceError(f"the database is damaged: {error}") from error
    raise SourceError("the database cannot be opened for reading")


def _has_no_log(path: Path) -> bool:
    """True for a database in WAL mode whose log is gone: SQLite would create an empty one."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\2\2" and not path.with_name(path.name + "-wal").exists()


def _locked(db: sqlite3.Connection) -> sqlite3.Connection:
    for setting in SETTINGS:
        db.execute(f"pragma {setting}")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.set_authorizer(_authorize)
    return db


def _authorize(action: int, first: str | None, second: str | None, database: str | None, source: str | None) -> int:
    """Allow reading tables, not through a view or trigger (`source`), and the functions above."""
    if source is None:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS:
            return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def tables(path: Path) -> set[str]:
    """The names of the plain tables; a view or a virtual table is none."""
    if not is_sqlite(path):
        return set()
    try:
        db = connect(path)
        try:
            plain = db.execute("select name from sqlite_master where type = 'table' and rootpage > 0")
            return {name for (name,) in plain}
        finally:
            db.close()
    except (SourceError, sqlite3.DatabaseError):
        return set()


def unread_log(path: Path) -> str | None:
    """A sentence if rows wait in a write-ahead log that cannot be read here; None otherwise."""
    log, index = path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
    if log.is_file() and log.stat().st_size and not index.exists():
        return f"rows in {log.name} are not read, since {index.name} is missing: open the database once with sqlite3"
    return None


def quoted(name: str) -> str:
    """The name of a table as SQL writes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
