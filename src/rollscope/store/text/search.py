"""Full-text search over samples, newest steps first. Close the iterator to stop.

There is no index: text decompresses about as fast as an index could be verified. Two threads search
row groups of sealed text, one at first, so that the first hits come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput
from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.live.part import Part
from rollscope.store.live.tail import Tail
from rollscope.store.numbers import merge
from rollscope.store.numbers.rows import Ints
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from .phrase import Phrase
from .row_group import Matches, in_row_group, in_table

GROWING = (1, 4, 16, 64)  # row groups in a batch: few at first
AHEAD = 2  # batches searched while hits are consumed
TEXTS = ("completion", "prompt", "messages", "answer")
MOST_OPEN = 64  # live logs that are held open during a search
BLOCKS = 64  # of a live log that are searched at once
OF_HITS = ("id", "step", "attempt", arrow.ESCAPED)
UNKNOWN_STEP = 2**62  # live rows without a step are searched first


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample that contains the text: in which column, and the words around it."""

    id: str
    step: int | None
    column: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of a run: row groups that follow each other, last one first, or rows of a live log."""

    newest: int  # step
    searches: list[Callable[[], list[Hit]]]


def search(
    folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False
) -> Iterator[Hit]:
    """Yield samples that contain `text`, newest steps first. Close the iterator to stop."""
    for hits in batches(folder, text, columns, ignore_case, regex):
        yield from hits


def batches(
    folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False
) -> Generator[list[Hit]]:
    """The same, as one list per part of the run; it may be empty. Close it to stop."""
    for column in columns:
        if column not in TEXTS:
            raise BadInput(f"no text column {column!r}: search looks through {', '.join(TEXTS)}.")
    seen: set[str] = set()
    phrase = Phrase.of(text, ignore_case, regex)
    with ExitStack() as logs:
        for hits in _read_ahead(_present(folder, phrase, columns, logs)):
            new = [hit for hit in hits if hit.id not in seen]
            seen |= {hit.id for hit in new}
            yield new


def _present(folder: Folder, phrase: Phrase, columns: Sequence[str], logs: ExitStack) -> list[Batch]:
    """The parts of a run. If a log was sealed since the last look at the folder, look again."""
    while True:
        try:
            return _batches(folder, phrase, columns, logs)
        except FileNotFoundError:
            if not folder.refresh():
                raise


def _batches(folder: Folder, phrase: Phrase, columns: Sequence[str], logs: ExitStack) -> list[Batch]:
    """The parts of a run, newest first. Live logs stay open meanwhile: they may be sealed."""
    parts: list[Batch] = []
    for sealed in folder.sets:
        if "samples.text.parquet" in sealed.files:
            parts += _SealedText(folder, sealed, phrase, columns).batches()
    tails = [tail for tail in folder.tails.values() if tail.parts("samples")]
    for number, tail in enumerate(tails):
        log = logs.enter_context(tail.opened()) if number < MOST_OPEN else None
        parts += _LiveText(folder, tail, log, phrase, columns).batches(tail.parts("samples"))
    return sorted(parts, key=lambda batch: -batch.newest)


@dataclass(frozen=True)
class _LiveText:
    """The text of a live log, read from the file as it was when the search began."""

    folder: Folder
    tail: Tail
    log: BinaryIO | None  # None: opened when its turn comes, since a thousand ranks have too many
    phrase: Phrase
    columns: Sequence[str]

    def batches(self, parts: Sequence[Part]) -> Iterator[Batch]:
        for part in parts:
            for numbers in part.pieces(BLOCKS):
                rows = part.narrow.slice(int(numbers[0]), len(numbers))
                newest = pc.max(rows["step"]).as_py() if "step" in rows.column_names else None
                yield Batch(UNKNOWN_STEP if newest is None else newest, [partial(self._in_rows, part, numbers)])

    def _in_rows(self, part: Part, numbers: Ints) -> list[Hit]:
        rows = self.tail.rows(part, [*OF_HITS, *self.columns], numbers, self.log)
        return _hits(self.folder, rows, in_table(rows, self.phrase, self.columns))


@dataclass
class _SealedText:
    """The text of a sealed set."""

    folder: Folder
    sealed: SealedSet
    phrase: Phrase
    columns: Sequence[str]

    @property
    def _file(self) -> SealedFile:
        return self.sealed.files["samples.text.parquet"]

    def batches(self) -> Iterator[Batch]:
        """Row groups from the last to the first, more of them in each batch."""
        end, turn = len(self._file.groups), 0
        while end > 0:
            start = max(0, end - GROWING[min(turn, len(GROWING) - 1)])
            newest = self._file.groups[end - 1].step_hi
            groups = range(end - 1, start - 1, -1)
            yield Batch(-1 if newest is None else newest, [partial(self._in_group, group) for group in groups])
            end, turn = start, turn + 1

    def _in_group(self, group: int) -> list[Hit]:
        matches = in_row_group(self._file, group, self.phrase, self.columns)
        if not matches:
            return []
        rows = self._file.read(["id", "step", arrow.ESCAPED], [group])
        if self.folder.resumed:
            first = int(self._file.starts[group])
            rows = rows.append_column("attempt", self._attempts.slice(first, len(rows)))
        return _hits(self.folder, rows, matches)

    @cached_property
    def _attempts(self) -> pa.ChunkedArray:
        """The attempt of each row, from the narrow file; null if that file is damaged."""
        narrow = self.sealed.files["samples.parquet"]
        if narrow.is_sound():
            return narrow.read(["attempt"])["attempt"]
        return pa.chunked_array([pa.nulls(self._file.rows, pa.int64())])


def _read_ahead(batches: list[Batch]) -> Generator[list[Hit]]:
    """The hits of the batches in order. The next ones are searched meanwhile."""
    pool, rest = ThreadPoolExecutor(arrow.THREADS, "rollscope-search"), iter(batches)

    def begin(count: int) -> list[list[Future[list[Hit]]]]:
        return [[pool.submit(search) for search in batch.searches] for batch in islice(rest, count)]

    try:
        coming = begin(1)  # the first one alone: a caller may want only a few hits
        while coming:
            yield [hit for part in coming.pop(0) for hit in part.result()]
            coming += begin(AHEAD - len(coming))
    finally:
        pool.shutdown(cancel_futures=True)


def _hits(folder: Folder, rows: pa.Table, matches: Matches) -> list[Hit]:
    """Matches as hits, the last row first, without rows of abandoned attempts."""
    order = sorted(matches, reverse=True)
    rows = _some_columns(rows, *OF_HITS).take(pa.array(order, pa.int64()))
    ids = arrow.numpy(_some_columns(rows, "id", arrow.ESCAPED), {})["id"].tolist()
    steps = rows["step"].to_pylist() if "step" in rows.column_names else [None] * len(order)
    alive = _alive(folder, rows)
    return [Hit(ids[i], steps[i], *matches[row]) for i, row in enumerate(order) if alive[i]]


def _some_columns(rows: pa.Table, *names: str) -> pa.Table:
    return rows.select([name for name in names if name in rows.column_names])


def _alive(folder: Folder, rows: pa.Table) -> list[bool]:
    if not folder.resumed or "attempt" not in rows.column_names or "step" not in rows.column_names:
        return [True] * len(rows)
    attempt, step = (np.asarray(pc.fill_null(rows[name], -1)) for name in ("attempt", "step"))
    alive: list[bool] = merge.alive(attempt, step, folder.resumed).tolist()
    return alive
