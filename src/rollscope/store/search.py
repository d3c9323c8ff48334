"""Full-text search over samples: newest first, each hit handed over when it is found, stopped by no longer asking.

No index: text decompresses about as fast as an index would be verified. Sealed text is scanned by DuckDB, some row groups at a time (one at first, so
that the first hits come at once), while the checksums of the next ones are being checked; a live log is looked through as it lies in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput

from . import arrow, merge, sql
from .folder import Folder
from .rows import Ints
from .sealed import File, Sealed

if TYPE_CHECKING:
    import duckdb

GROWING = (1, 4, 16, 64)  # row groups scanned at once: few at first
AHEAD = 2  # scans under way while hits are handed over
AROUND = 60  # bytes of a snippet on each side
TEXTS = ("completion", "prompt", "messages", "answer")


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample that holds the text: where, and what stands around it."""

    id: str
    step: int | None
    column: str
    snippet: str


@dataclass(slots=True)
class Page:
    """Rows to look through: some row groups, or a piece of a live log. `check` may run ahead of `read`."""

    newest: int
    read: Callable[[], pa.Table]
    check: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Question:
    """What is searched for, for DuckDB and for bytes."""

    text: str
    pattern: re.Pattern[bytes]
    columns: Sequence[str]
    test: str  # SQL for a column, with ? for the text

    @classmethod
    def of(cls, text: str, columns: Sequence[str], ignore_case: bool, regex: bool) -> Question:
        if not text:
            raise BadInput("nothing to search for: the text is empty.")
        for column in columns:
            if column not in TEXTS:
                raise BadInput(f"no text column {column!r}: search looks through {', '.join(TEXTS)}.")
        raw = text.encode("utf-8", "surrogatepass")
        try:
            pattern = re.compile(raw if regex else re.escape(raw), re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise BadInput(f"{text!r} is not a regular expression: {error}. Without regex=True it is taken as it stands.") from error
        literal = not regex and not ignore_case
        test = "contains({}, ?)" if literal else f"regexp_matches({{}}, ?, '{'i' if ignore_case else 'c'}')"
        asked = text if literal or regex else re.escape(text)
        return cls(asked.encode("utf-8", "replace").decode(), pattern, columns, test)


def search(folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False) -> Iterator[Hit]:
    """Samples whose text holds `text`, newest steps first. Close the iterator to stop."""
    for hits in batches(folder, text, columns, ignore_case, regex):
        yield from hits


def batches(folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False) -> Generator[list[Hit]]:
    """The same, as what each stretch of the run gave, which may be nothing: between two of them a search can be stopped."""
    question = Question.of(text, columns, ignore_case, regex)
    if not folder.sets:
        yield from _batches(folder, question, None)
        return
    with sql.connected() as connection:
        connection.execute("SET parquet_metadata_cache = true")  # one footer for many scans
        yield from _batches(folder, question, connection)


def _batches(folder: Folder, question: Question, connection: duckdb.DuckDBPyConnection | None) -> Generator[list[Hit]]:
    seen: set[str] = set()
    pages = _read_ahead(_pages(folder, question, connection))
    try:
        for rows in pages:
            hits = [hit for hit in _hits(folder, rows, question.pattern, question.columns) if hit.id not in seen]
            seen |= {hit.id for hit in hits}
            yield hits
    finally:
        if connection is not None:
            connection.interrupt()
        pages.close()


def _pages(folder: Folder, question: Question, connection: duckdb.DuckDBPyConnection | None) -> list[Page]:
    pages = []
    for piece in folder.sets:
        file = piece.files.get("samples.text.parquet")
        if file is not None and connection is not None:
            pages += [_sealed_page(piece, file, groups, question, connection, bool(folder.resumed)) for groups in _runs(len(file.groups))]
    for tail in folder.tails.values():
        for rows in tail.tables("samples"):
            steps = pc.max(rows["step"]).as_py() if "step" in rows.column_names else None
            pages.append(Page(2**62 if steps is None else steps, lambda rows=rows: rows))  # type: ignore[misc]
    return sorted(pages, key=lambda page: -page.newest)


def _runs(count: int) -> Iterator[range]:
    """Row groups from the last to the first, more and more at once."""
    end, turn = count, 0
    while end > 0:
        size = GROWING[min(turn, len(GROWING) - 1)]
        yield range(max(0, end - size), end)
        end, turn = end - size, turn + 1


def _sealed_page(piece: Sealed, file: File, groups: range, question: Question, connection: duckdb.DuckDBPyConnection, attempts: bool) -> Page:
    newest = file.groups[groups[-1]].step_hi

    def check() -> None:
        for group in groups:
            file.holds(group)

    def read() -> pa.Table:
        columns = ["id", "step", arrow.ESCAPED, *question.columns]
        whole = all([file.holds(group) for group in groups]) and file.metadata is not None and not file.damage
        found = _scan(file, groups, question, connection) if whole else file.read(columns, list(groups))
        return _with_attempts(piece, found) if attempts and "row" in found.column_names else found

    return Page(-1 if newest is None else newest, read, check)


def _scan(file: File, groups: range, question: Question, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Rows that fit, by DuckDB; it skips row groups by their steps."""
    columns = [column for column in question.columns if column in file.columns]
    low, high = file.groups[groups[0]].step_lo, file.groups[groups[-1]].step_hi
    steps = "" if low is None or high is None else f"step BETWEEN {low} AND {high} AND "
    first, last = int(file.starts[groups[0]]), int(file.starts[groups[-1] + 1]) - 1
    fits = " OR ".join([*(question.test.format(column) for column in columns), f"{arrow.ESCAPED} IS NOT NULL"])
    query = f"SELECT file_row_number AS row, {', '.join(['id', 'step', arrow.ESCAPED, *columns])} FROM read_parquet(?, file_row_number = true) WHERE {steps}file_row_number BETWEEN {first} AND {last} AND ({fits}) ORDER BY row"
    found = connection.sql(query, params=[file.path, *[question.text] * len(columns)]).to_arrow_table()
    return found.cast(pa.schema([pa.field(f.name, pa.large_string() if pa.types.is_string(f.type) else f.type) for f in found.schema]))


def _with_attempts(piece: Sealed, found: pa.Table) -> pa.Table:
    """With the attempt of each row, which lies in the narrow file."""
    narrow = piece.files["samples.parquet"]
    whole = narrow.read(["attempt"]) if len(found) and narrow.sound() else None
    attempt = pa.nulls(len(found), pa.int64()) if whole is None else whole["attempt"].take(found["row"])
    return found.append_column("attempt", attempt)


def _read_ahead(pages: list[Page]) -> Generator[pa.Table]:
    """Pages in order, the next ones being checked and read meanwhile."""
    checks, reads = ThreadPoolExecutor(1, "rollscope-check"), ThreadPoolExecutor(1, "rollscope-search")
    rest = iter(pages)

    def begin(page: Page) -> Future[pa.Table]:
        checked = checks.submit(page.check)
        return reads.submit(lambda: (checked.result(), page.read())[1])

    try:
        coming = [begin(page) for page in islice(rest, 1)]  # the first page alone: whoever asks for a few hits asks for nothing else
        while coming:
            found = coming.pop(0).result()
            yield found
            coming += [begin(page) for page in islice(rest, AHEAD - len(coming))]
    finally:
        checks.shutdown(cancel_futures=True)
        reads.shutdown(cancel_futures=True)  # what is running was interrupted


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
