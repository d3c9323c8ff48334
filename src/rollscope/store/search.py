"""Full-text search over samples: newest first, each hit handed over when it is found, stopped by no longer asking.

No index: text decompresses about as fast as an index would be verified. One thread reads and checks the next row groups while this one
looks through the bytes of the last, all rows of a group at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput

from . import arrow, merge
from .folder import Folder
from .rows import Ints
from .sealed import Sealed

AHEAD = 3  # row groups being read while one is looked through
AROUND = 60  # bytes of a snippet on each side
TEXTS = ("completion", "prompt", "messages", "answer")
KEYS = ("id", "step", "attempt", arrow.ESCAPED)


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample that holds the text: where, and what stands around it."""

    id: str
    step: int | None
    column: str
    snippet: str


@dataclass(slots=True)
class Page:
    """Rows to look through: a row group, or a piece of a live log."""

    newest: int
    read: Callable[[], pa.Table]


def search(folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False) -> Iterator[Hit]:
    """Samples whose text holds `text`, newest step first. Close the iterator to stop."""
    pattern = _pattern(text, ignore_case, regex)
    for column in columns:
        if column not in TEXTS:
            raise BadInput(f"no text column {column!r}: search looks through {', '.join(TEXTS)}.")
    seen: set[str] = set()
    for rows in _read_ahead(_pages(folder, columns)):
        for hit in _hits(folder, rows, pattern, columns):
            if hit.id not in seen:
                seen.add(hit.id)
                yield hit


def _pattern(text: str, ignore_case: bool, regex: bool) -> re.Pattern[bytes]:
    if not text:
        raise BadInput("nothing to search for: the text is empty.")
    raw = text.encode("utf-8", "surrogatepass")
    try:
        return re.compile(raw if regex else re.escape(raw), re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise BadInput(f"{text!r} is not a regular expression: {error}. Without regex=True it is taken as it stands.") from error


def _pages(folder: Folder, columns: Sequence[str]) -> list[Page]:
    pages = []
    for piece in folder.sets:
        file = piece.files.get("samples.text.parquet")
        for group in range(len(file.groups)) if file else ():
            assert file is not None
            newest = file.groups[group].step_hi
            pages.append(Page(-1 if newest is None else newest, _reader(piece, group, columns, bool(folder.resumed))))
    for tail in folder.tails.values():
        for rows in tail.tables("samples"):
            steps = pc.max(rows["step"]).as_py() if "step" in rows.column_names else None
            pages.append(Page(2**62 if steps is None else steps, lambda rows=rows: rows))  # type: ignore[misc]
    return sorted(pages, key=lambda page: -page.newest)


def _reader(piece: Sealed, group: int, columns: Sequence[str], attempts: bool) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        file = piece.files["samples.text.parquet"]
        found = file.read(["id", "step", arrow.ESCAPED, *columns], [group])
        if attempts and len(found):
            lo, hi = int(file.starts[group]), int(file.starts[group + 1])
            narrow = piece.files["samples.parquet"]
            whole = narrow.read(["attempt"], list(narrow.groups_of_rows(lo, hi)))
            first = int(narrow.starts[narrow.groups_of_rows(lo, hi)[0]])
            found = found.append_column("attempt", whole["attempt"].slice(lo - first, hi - lo))
        return found

    return read


def _read_ahead(pages: list[Page]) -> Iterator[pa.Table]:
    """Pages in order, the next ones being read meanwhile."""
    pool = ThreadPoolExecutor(1, "rollscope-search")
    rest = iter(pages)
    try:
        coming: list[Future[pa.Table]] = [pool.submit(page.read) for page in islice(rest, AHEAD)]
        while coming:
            found = coming.pop(0).result()
            coming += [pool.submit(page.read) for page in islice(rest, 1)]
            yield found
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _hits(folder: Folder, rows: pa.Table, pattern: re.Pattern[bytes], columns: Sequence[str]) -> Iterator[Hit]:
    """Hits of one page, last row first."""
    found: dict[int, tuple[str, str]] = {}
    for column in columns:
        if column in rows.column_names:
            for row, snippet in _in_column(rows, column, pattern):
                found.setdefault(row, (column, snippet))
    if not found:
        return
    ids, steps = rows["id"], rows["step"] if "step" in rows.column_names else None
    dead = _dead(folder, rows, np.array(list(found)))
    for row in sorted(found, reverse=True):
        if row not in dead:
            yield Hit(ids[row].as_py(), None if steps is None else steps[row].as_py(), *found[row])


def _in_column(rows: pa.Table, column: str, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    """Rows of a column that hold the pattern, by looking through the bytes of all of them end to end."""
    base = 0
    for chunk in rows[column].chunks:
        data = chunk.buffers()[2]
        if data is not None and len(chunk):
            ends = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            yield from ((base + row, snippet) for row, snippet in _in_bytes(memoryview(data), ends, pattern))
        base += len(chunk)
    if arrow.ESCAPED in rows.column_names and rows[arrow.ESCAPED].null_count < len(rows):
        yield from _in_escaped(rows, column, pattern)


def _in_escaped(rows: pa.Table, column: str, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    flags = rows[arrow.ESCAPED]
    for row in np.flatnonzero(np.asarray(flags.is_valid())).tolist():
        text = rows[column][row].as_py()
        if text is not None and column in flags[row].as_py().split(","):
            raw = arrow.unescape(text).encode("utf-8", "surrogatepass")
            if match := pattern.search(raw):
                yield row, _snippet(memoryview(raw), 0, len(raw), match)


def _in_bytes(data: memoryview, ends: Ints, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    at, stop = int(ends[0]), int(ends[-1])
    while match := pattern.search(data, at, stop):
        row = int(np.searchsorted(ends, match.start(), "right")) - 1
        lo, hi = int(ends[row]), int(ends[row + 1])
        if match.end() <= hi:
            yield row, _snippet(data, lo, hi, match)
            at = max(hi, match.start() + 1)  # one hit a row
        else:
            at = match.start() + 1  # it ran over the end of a text


def _snippet(data: memoryview, lo: int, hi: int, match: re.Match[bytes]) -> str:
    begin, end = max(lo, match.start() - AROUND), min(hi, match.end() + AROUND)
    text = bytes(data[begin:end]).decode("utf-8", "ignore")
    return ("…" if begin > lo else "") + text + ("…" if end < hi else "")


def _dead(folder: Folder, rows: pa.Table, found: Ints) -> set[int]:
    """Rows of attempts that were abandoned."""
    if not folder.resumed or "attempt" not in rows.column_names or "step" not in rows.column_names:
        return set()
    attempt, step = (np.asarray(pc.fill_null(rows[name].take(pa.array(found)), -1)) for name in ("attempt", "step"))
    return set(found[~merge.alive(attempt, step, folder.resumed)].tolist())
