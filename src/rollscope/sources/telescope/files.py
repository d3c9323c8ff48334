"""Open Telescope's archives and databases, and read their tables."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, RunStart, Since, Skipped, SourceError
from rollscope.sources.intake.gather import run_id

from .items import items
from .spans import Rows, Table


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".zip" and path.parent.name in ("events", "steps"):
        return path.stem == "tail" or path.stem.startswith("block_")
    if path.suffix != ".duckdb":
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def rows(path: Path, since: Since) -> Iterator[Item]:
    yield from _archive(path, since) if path.suffix == ".zip" else _database(path, since)


def _archive(path: Path, since: Since) -> Iterator[Item]:
    root, stat = path.parent.parent, path.stat()
    id = run_id(root.name, "telescope", root)
    cursor: dict[str, Any] = {"file": [stat.st_size, stat.st_mtime_ns]}
    before = since.get(id) or {}
    facts = {"name": root.name, "project": "telescope", "framework": "telescope", "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=f"{path.parent.name}", facts=facts)
    if before.get("file") == cursor["file"]:
        yield Mark(before, stat.st_size, stat.st_size)
        return
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise SourceError(f"the archive is damaged: {error}") from error
    skipped: list[Skipped] = []
    with archive:
        table = _archived_tables(archive, path, skipped)
        yield from items(table, path, set(before.get("seen", ())), cursor)
    yield from skipped
    yield Mark(cursor, stat.st_size, stat.st_size)


def _archived_tables(archive: zipfile.ZipFile, path: Path, skipped: list[Skipped]) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    damage = (pa.ArrowException, ValueError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError)

    def table(name: str) -> Rows:
        try:
            return pq.read_table(io.BytesIO(archive.read(f"{name}.parquet"))).to_pylist()  # type: ignore[no-any-return]
        except KeyError:
            return []
        except damage as error:
            skipped.append(Skipped(f"{name}.parquet inside it is damaged: {error}", path))
            return []

    return table


def _database(path: Path, since: Since) -> Iterator[Item]:
    import duckdb

    try:
        db = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise SourceError(
            f"the DuckDB file cannot be opened ({error}). Stop the Telescope UI first: it locks the file"
        ) from error
    try:
        yield from _runs(db, path, since)
    except duckdb.Error as error:
        raise SourceError(f"the DuckDB file is damaged: {_first_line(error)}") from error
    finally:
        db.close()


def _runs(db: Any, path: Path, since: Since) -> Iterator[Item]:
    known = {row[0] for row in db.execute("select table_name from information_schema.tables").fetchall()}
    for run, name, project, config in db.execute("select run_id, name, project, config_json from runs").fetchall():
        id = run_id(name or run, "telescope", run)
        about = {"name": name or run, "project": project or "telescope"}
        yield RunStart(id=id, kind="duckdb", facts={**about, "framework": "telescope", "config": _config(config)})
        skipped: list[Skipped] = []
        cursor: dict[str, Any] = {}
        table = _stored_tables(db, run, known, path, skipped)
        yield from items(table, path, set((since.get(id) or {}).get("seen", ())), cursor)
        yield from skipped
        yield Mark(cursor)


def _stored_tables(db: Any, run: str, known: set[str], path: Path, skipped: list[Skipped]) -> Table:
    import duckdb

    def table(name: str) -> Rows:
        if name not in known:
            return []
        try:
            cursor = db.execute(f'select * from "{name}" where run_id = ?', [run])
            columns = [column[0] for column in cursor.description or ()]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.Error as error:
            skipped.append(Skipped(f"the table {name} is damaged: {_first_line(error)}", path))
            return []

    return table


def _first_line(error: Exception) -> str:
    """The first line of an error message; DuckDB's can be a page long."""
    return str(error).partition("\n")[0]


def _config(text: Any) -> dict[str, Any] | None:
    try:
        config = json.loads(text) if text else None
    except ValueError:
        return None
    return config if isinstance(config, dict) else None
