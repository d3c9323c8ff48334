"""Telescope's archives: zips of Parquet tables, in the folders `events` and `steps` of a run.

The same rows are in several archives of a folder: `tail.zip` repeats the last minute, and
`block_live.zip` becomes `block_0.zip`. So a folder is read as one, and a row is taken once. An
archive may be hostile: only the members that are tables of Telescope are read, into memory, up to a
bound.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, RunStart, Since, Skipped, SourceError
from rollscope.sources.files import columnar
from rollscope.sources.intake.gather import run_id

from .items import items
from .spans import Rows, Table

FOLDERS = ("events", "steps")
UNPACKED = 64 << 20  # bytes of one table in an archive, and `RATIO` times the size of the archive more
RATIO = 20
OTHER_TABLES = (KeyError, TypeError, AttributeError, ValueError, OverflowError)  # what reading them raises
NOT_THEIRS = "its tables are not those that Telescope writes"


def recognises(path: Path) -> bool:
    """True for a folder of archives, and for an archive that was given alone."""
    if path.name in FOLDERS and path.is_dir():
        return bool(_archives(path))
    return path.parent.name in FOLDERS and _is_archive(path)


def _is_archive(path: Path) -> bool:
    return path.suffix == ".zip" and (path.stem == "tail" or path.stem.startswith("block_")) and path.is_file()


def _archives(path: Path) -> list[Path]:
    """The archives of a folder, without links: they may lead anywhere."""
    files = [path] if not path.is_dir() else [file for file in path.iterdir() if not file.is_symlink()]
    return sorted(filter(_is_archive, files))


def rows(path: Path, since: Since) -> Iterator[Item]:
    """The rows that no archive held at the last import."""
    folder = path if path.is_dir() else path.parent
    root, files = folder.parent, _archives(path)
    id = run_id(root.name, "telescope", root)
    last = max((file.stat().st_mtime_ns for file in files if file.exists()), default=None)
    facts = {"name": root.name, "project": "telescope", "framework": "telescope", "ended_ns": last}
    yield RunStart(id=id, kind=folder.name, facts=facts)
    taken = Taken.of(since.get(id) or {})
    marked, is_new = len(taken.seen), False
    for file in files:
        is_new |= yield from _new(file, taken, alone=path == file)
        # A mark holds the identity of every row so far: few of them, and none where nothing is new.
        if is_new and (len(taken.seen) > 2 * marked or file == files[-1]):
            marked, is_new, size = len(taken.seen), False, file.stat().st_size if file.exists() else 0
            yield Mark(taken.cursor(), size, size)


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken from a folder: its archives as they were, and the identity of each row."""

    files: dict[str, list[int]]  # name -> size and time
    seen: set[str]

    @classmethod
    def of(cls, cursor: Mapping[str, Any]) -> Taken:
        return cls(dict(cursor.get("files", {})), set(cursor.get("seen", ())))

    def cursor(self) -> dict[str, Any]:
        return {"files": dict(self.files), "seen": sorted(self.seen)}


def _new(file: Path, taken: Taken, alone: bool) -> Generator[Item, None, bool]:
    """The rows of one archive that were not taken before. Returns whether it had to be read."""
    try:
        stat = file.stat()
        signature = [stat.st_size, stat.st_mtime_ns]
        if taken.files.get(file.name) == signature:
            return False
        yield from _archive(file, taken.seen)
    except FileNotFoundError:  # Telescope gave it another name meanwhile: the next import finds it
        return True
    except (SourceError, *OTHER_TABLES) as error:
        if alone:
            raise
        yield Skipped(str(error) if isinstance(error, SourceError) else f"{NOT_THEIRS} ({error!r})", file)
    taken.files[file.name] = signature
    return True


def _archive(path: Path, seen: set[str]) -> Iterator[Item]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise SourceError(f"the archive is damaged: {error}") from error
    skipped = [Skipped(f"its member {name[:200]!r} is not read", path) for name in archive.namelist() if _is_odd(name)]
    with archive:
        yield from items(_archived_tables(archive, path, skipped), path, seen)
    yield from skipped


def _is_odd(name: str) -> bool:
    """True for a member with a path, which may lead out of the archive: Telescope writes none."""
    return "/" in name or "\\" in name


def _archived_tables(archive: zipfile.ZipFile, path: Path, skipped: list[Skipped]) -> Table:
    import pyarrow as pa

    packed = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)  # RuntimeError: encrypted
    damage = (*packed, pa.ArrowException, SourceError, ValueError, OSError)
    most = UNPACKED + RATIO * path.stat().st_size

    def table(name: str) -> Rows:
        try:
            rows = columnar.parquet(columnar.opened(_unpacked(archive, f"{name}.parquet", most)), path)
            return list(columnar.good(rows, skipped))
        except KeyError:
            return []
        except MemoryError:
            raise
        except damage as error:
            skipped.append(Skipped(f"{name}.parquet inside it is damaged: {error}", path))
            return []

    return table


def _unpacked(archive: zipfile.ZipFile, name: str, most: int) -> io.BytesIO:
    """A member in memory. Its announced size may be a lie, so the bytes are counted."""
    with archive.open(name) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise SourceError(f"it unpacks to more than {most >> 20} MB")
    return io.BytesIO(data)
