"""Tell Telescope's archives and databases from other files, and read the tables of a database.

A database may be hostile. It is opened without access to files, network and extensions, and only
its tables are read: a view or a macro is code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, RunStart, Since, Skipped, SourceError
from rollscope.sources.intake.gather import run_id

from . import archives
from .items import items
from .spans import Rows, Table

LOCKED = {  # settings of DuckDB; they cannot be changed after the file is opened
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "temp_directory": "",
    "memory_limit": "1GB",
    "threads": "1",
    "lock_configuration": "true",
}
TABLES = "select table_name from duckdb_tables() where schema_name = 'main' and not internal and not temporary"
VIEWS = "select view_name from duckdb_views() where schema_name = 'main' and not internal"


def recognises(path: Path) -> bool:
    if archives.recognises(path):
        return True
    if not path.is_file() or path.suffix != ".duckdb":
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def rows(path: Path, since: Since) -> Iterator[Item]:
    try:
        yield from _database(path, since) if path.suffix == ".duckdb" else archives.rows(path, since)
    except archives.OTHER_TABLES as error:
        raise SourceError(f"{archives.NOT_THEIRS} ({error!r})") from error


def _database(path: Path, since: Since) -> Iterator[Item]:
    import duckdb

    try:
        db = duckdb.connect(str(path), read_only=True, config=_settings(duckdb))
    except duckdb.Error as error:
        raise SourceError(
            f"the DuckDB file cannot be opened ({_first_line(error)}). Stop the Telescope UI first: it locks the file"
        ) from error
    try:
        yield from _runs(db, path, since)
    except duckdb.OutOfMemoryException as error:
        raise MemoryError from error
    except duckdb.Error as error:
        raise SourceError(f"the DuckDB file is damaged: {_first_line(error)}") from error
    finally:
        db.close()


def _settings(duckdb: Any) -> dict[str, Any]:
    """The settings above that this version of DuckDB has."""
    with duckdb.connect(":memory:") as db:
        known = {name for (name,) in db.execute("select name from duckdb_settings()").fetchall()}
    return {name: value for name, value in LOCKED.items() if name in known}


def _runs(db: Any, path: Path, since: Since) -> Iterator[Item]:
    known = {name for (name,) in db.execute(TABLES).fetchall()}
    views = sorted(name for (name,) in db.execute(VIEWS).fetchall())
    if views:
        yield Skipped(f"views are not read, only tables: {', '.join(views)[:200]}", path)
    if "runs" not in known:
        raise SourceError("the DuckDB file has no table runs, so it is not Telescope's")
    query = "select run_id, name, project, config_json from main.runs"
    for run, name, project, config in db.execute(query).fetchall():
        id = run_id(str(name or run), "telescope", run)
        about = {"name": name or run, "project": project or "telescope"}
        yield RunStart(id=id, kind="duckdb", facts={**about, "framework": "telescope", "config": _config(config)})
        skipped: list[Skipped] = []
        seen = set((since.get(id) or {}).get("seen", ()))
        yield from items(_stored_tables(db, run, known, path, skipped), path, seen)
        yield from skipped
        yield Mark({"seen": sorted(seen)})


def _stored_tables(db: Any, run: str, known: set[str], path: Path, skipped: list[Skipped]) -> Table:
    import duckdb

    def table(name: str) -> Rows:
        if name not in known:
            return []
        try:
            cursor = db.execute(f'select * from main."{name}" where run_id = ?', [run])
            columns = [column[0] for column in cursor.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            skipped.append(Skipped(f"the table {name} is damaged: {_first_line(error)}", path))
            return []

    return table


def _first_line(error: Exception) -> str:
    """The first line of an error message; DuckDB's can be a page long."""
    return str(error).partition("\n")[0]


def _config(text: Any) -> dict[str, Any] | None:
    try:
        config = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) else None
