"""Open other people's SQLite files read-only, even while another process writes to them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from rollscope.sources import SourceError

MAGIC = b"SQLite format 3\0"


def is_sqlite(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".db", ".sqlite", ".sqlite3", ".sqlite3db", ""):
        return False
    try:
        with path.open("rb") as file:
            return file.read(16) == MAGIC
    except OSError:
        return False


def connect(path: Path) -> sqlite3.Connection:
    """A read-only connection; without locks in a folder that cannot be written."""
    for mode in ("mode=ro", "immutable=1"):
        try:
            db = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
            db.execute("select count(*) from sqlite_master").fetchone()
            return db
        except sqlite3.OperationalError:
            continue
        except sqlite3.DatabaseError as error:
            raise SourceError(f"the database is damaged: {error}") from error
    raise SourceError("the database cannot be opened for reading")


def tables(path: Path) -> set[str]:
    if not is_sqlite(path):
        return set()
    try:
        db = connect(path)
        try:
            return {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
        finally:
            db.close()
    except (SourceError, sqlite3.DatabaseError):
        return set()
