"""Read the rows of a dumped file as items, in batches, with a mark after each.

Files of lines grow: reading goes on behind the last line. Other files are written once: a file that
changed is read from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, Records, Restart, Since, Skipped
from rollscope.sources.files import columnar, offset
from rollscope.sources.jsonl import described, lines

from .place import Place, Spot

ROWS = 1000  # rows that are passed on together
BYTES = 4 << 20  # of their text: a small number of rows may hold long texts
COMPLETE = -1  # stands for the number of rows, once all are read
REWRITTEN = "the file was rewritten since the last import; it is read from the start"

Row = Mapping[str, Any]
Tables = Mapping[str, list[dict[str, Any]]]  # table -> rows
Take = Callable[[Row, Spot], Tables]


class _Batch:
    """Rows by table, until there are enough of them."""

    def __init__(self, take: Take, place: Place, path: Path) -> None:
        self._take, self._place, self._path = take, place, path
        self._time_ns = path.stat().st_mtime_ns
        self._tables: dict[str, list[dict[str, Any]]] = {}
        self._rows = self._bytes = 0

    def add(self, row: Row, number: int, size: int = 0) -> Skipped | None:
        """Take a row; what is wrong with it, if it cannot be taken."""
        self._bytes += size
        try:
            taken = self._take(row, Spot(self._place, number, self._time_ns))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            return Skipped(f"row {number + 1} is not a rollout of {self._place.framework} ({error})", self._path)
        for table, rows in taken.items():
            self._tables.setdefault(table, []).extend(rows)
            self._rows += len(rows)
        return None

    @property
    def is_full(self) -> bool:
        return self._rows >= ROWS or self._bytes >= BYTES

    def flush(self) -> Iterator[Records]:
        for table, rows in self._tables.items():
            if rows:
                yield Records(table, rows)
        self._tables, self._rows, self._bytes = {}, 0, 0


def growing(path: Path, since: Since, place: Place, take: Take) -> Iterator[Item]:
    """The rows of a JSONL file, from where the last import ended."""
    run, size = place.run(path), path.stat().st_size
    yield run
    cursor = since.get(run.id) or offset.start(path)
    if run.id in since and not offset.continues(path, cursor):
        yield Restart(REWRITTEN)
        cursor = offset.start(path)
    batch, at, line = _Batch(take, place, path), cursor["at"], cursor["line"]
    for begin, value, end in lines(path, at):
        if end is None:
            yield Skipped("the file ends in the middle of a line; it is imported once it is complete", path, begin)
            break
        if not isinstance(value, dict):
            yield Skipped(f"line {line + 1} is not a JSON object ({described(value)})", path, begin)
        elif (wrong := batch.add(value, line, end - at)) is not None:
            yield wrong
        at, line = end, line + 1
        if batch.is_full:
            yield from batch.flush()
            yield Mark(offset.reached(path, at, line), at, size)
    yield from batch.flush()
    yield Mark(offset.reached(path, at, line), at, size)


def table(path: Path, since: Since, place: Place, take: Take) -> Iterator[Item]:
    """The rows of a Parquet or Arrow file, from where an import that was broken off ended."""
    run, stat = place.run(path), path.stat()
    yield run
    same, cursor = [stat.st_size, stat.st_mtime_ns], since.get(run.id)
    if cursor == [*same, COMPLETE]:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    done = cursor[2] if isinstance(cursor, list) and cursor[:2] == same and len(cursor) == 3 else 0
    if run.id in since and not done:
        yield Restart(REWRITTEN)
    batch, ends = _Batch(take, place, path), columnar.ends(path)
    parts = set(ends[:-1])  # a row group is a complete part
    for begin, rows in columnar.batches(path, done):
        if isinstance(rows, Skipped):
            yield rows
            done = max(done, begin)
            continue
        for number, row in enumerate(rows, begin):
            if (wrong := batch.add(row, number, _characters(row))) is not None:
                yield wrong
            if batch.is_full:  # a few rows of a small file may hold long texts
                yield from batch.flush()
        done = begin + len(rows)
        if done in parts:
            yield from batch.flush()
            yield Mark([*same, done], stat.st_size * done // ends[-1], stat.st_size)
    yield from batch.flush()
    yield Mark([*same, COMPLETE], stat.st_size, stat.st_size)


def _characters(row: Row) -> int:
    """How much a row holds: letters, or entries of lists and arrays."""
    return sum(len(value) for value in row.values() if isinstance(value, Sized))


def once(path: Path, since: Since, place: Place, rows: Iterable[Row | Skipped], take: Take) -> Iterator[Item]:
    """The rows of a file that is written once and read as a whole."""
    run, stat = place.run(path), path.stat()
    yield run
    cursor = [stat.st_size, stat.st_mtime_ns]
    if since.get(run.id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if run.id in since:
        yield Restart(REWRITTEN)
    batch = _Batch(take, place, path)
    for number, row in enumerate(rows):
        wrong = row if isinstance(row, Skipped) else batch.add(row, number, _characters(row))
        if wrong is not None:
            yield wrong
        if batch.is_full:
            yield from batch.flush()
    yield from batch.flush()
    yield Mark(cursor, stat.st_size, stat.st_size)
