"""Full-text search over samples: newest first, each hit handed over when it is found, stopped by no longer asking.

No index: text decompresses about as fast as an index would be verified. Two threads look through row groups of sealed text (one at first, so that the
first hits come at once); a live log is looked through as it lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput
from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.numbers import merge
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

from .phrase import Phrase
from .row_group import Found, in_table, look

GROWING = (1, 4, 16, 64)  # row groups in a stretch: few at first
AHEAD = 2  # stretches under way while hits are handed over
TEXTS = ("completion", "prompt", "messages", "answer")


@dataclass(frozen=True, slots=True)
class Hit:
    """A sample that holds the text: where, and what stands around it."""

    id: str
    step: int | None
    column: str
    snippet: str


Look = Callable[[], list[Hit]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row groups that follow each other, the last one first, or a piece of a live log: what gives the hits of each."""

    newest: int
    parts: list[Look]


def search(
    folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False
) -> Iterator[Hit]:
    """Samples whose text holds `text`, newest steps first. Close the iterator to stop."""
    for hits in batches(folder, text, columns, ignore_case, regex):
        yield from hits


def batches(
    folder: Folder, text: str, columns: Sequence[str] = TEXTS[:2], ignore_case: bool = False, regex: bool = False
) -> Generator[list[Hit]]:
    """The same, as what each stretch of the run gave, which may be nothing: between two of them a search can be stopped."""
    for column in columns:
        if column not in TEXTS:
            raise BadInput(f"no text column {column!r}: search looks through {', '.join(TEXTS)}.")
    seen: set[str] = set()
    for found in _read_ahead(_stretches(folder, Phrase.of(text, ignore_case, regex), columns)):
        hits = [hit for hit in found if hit.id not in seen]
        seen |= {hit.id for hit in hits}
        yield hits


def _stretches(folder: Folder, phrase: Phrase, columns: Sequence[str]) -> list[Stretch]:
    found: list[Stretch] = []
    for piece in folder.sets:
        if "samples.text.parquet" in piece.files:
            found += _Text(folder, piece, phrase, columns).stretches()
    for tail in folder.tails.values():
        for rows in tail.tables("samples"):
            newest = pc.max(rows["step"]).as_py() if "step" in rows.column_names else None
            look = partial(_in_rows, folder, rows, phrase, columns)
            found.append(Stretch(2**62 if newest is None else newest, [look]))
    return sorted(found, key=lambda stretch: -stretch.newest)


def _in_rows(folder: Folder, rows: pa.Table, phrase: Phrase, columns: Sequence[str]) -> list[Hit]:
    return _hits(folder, rows, in_table(rows, phrase, columns))


@dataclass
class _Text:
    """The text of a sealed set."""

    folder: Folder
    piece: SealedSet
    phrase: Phrase
    columns: Sequence[str]

    @property
    def _file(self) -> SealedFile:
        return self.piece.files["samples.text.parquet"]

    def stretches(self) -> Iterator[Stretch]:
        """Row groups from the last to the first, more and more at once."""
        end, turn = len(self._file.groups), 0
        while end > 0:
            start = max(0, end - GROWING[min(turn, len(GROWING) - 1)])
            newest = self._file.groups[end - 1].step_hi
            looks: list[Look] = [partial(self._of_group, group) for group in range(end - 1, start - 1, -1)]
            yield Stretch(-1 if newest is None else newest, looks)
            end, turn = start, turn + 1

    def _of_group(self, group: int) -> list[Hit]:
        found = look(self._file, group, self.phrase, self.columns)
        if not found:
            return []
        rows = self._file.read(["id", "step", arrow.ESCAPED], [group])
        if self.folder.resumed:
            first = int(self._file.starts[group])
            rows = rows.append_column("attempt", self._attempts.slice(first, len(rows)))
        return _hits(self.folder, rows, found)

    @cached_property
    def _attempts(self) -> pa.ChunkedArray:
        """The attempt of each row, which lies in the narrow file."""
        narrow = self.piece.files["samples.parquet"]
        return (
            narrow.read(["attempt"])["attempt"]
            if narrow.is_sound()
            else pa.chunked_array([pa.nulls(self._file.rows, pa.int64())])
        )


def _read_ahead(stretches: list[Stretch]) -> Generator[list[Hit]]:
    """What the stretches give, in order, the next ones being read meanwhile."""
    pool, rest = ThreadPoolExecutor(arrow.THREADS, "rollscope-search"), iter(stretches)

    def begin(count: int) -> list[list[Future[list[Hit]]]]:
        return [[pool.submit(part) for part in stretch.parts] for stretch in islice(rest, count)]

    try:
        coming = begin(1)  # the first one alone: whoever asks for a few hits asks for nothing else
        while coming:
            yield [hit for part in coming.pop(0) for hit in part.result()]
            coming += begin(AHEAD - len(coming))
    finally:
        pool.shutdown(cancel_futures=True)


def _hits(folder: Folder, rows: pa.Table, found: Found) -> list[Hit]:
    """Rows with what was found in them as hits, the last row first, without those of attempts that were abandoned."""
    order = sorted(found, reverse=True)
    kept = rows.select([name for name in ("id", "step", "attempt", arrow.ESCAPED) if name in rows.column_names]).take(
        pa.array(order, pa.int64())
    )
    ids = arrow.numpy(kept.select([name for name in ("id", arrow.ESCAPED) if name in kept.column_names]), {})[
        "id"
    ].tolist()
    steps = kept["step"].to_pylist() if "step" in kept.column_names else [None] * len(order)
    counts = _alive(folder, kept)
    return [Hit(ids[i], steps[i], *found[row]) for i, row in enumerate(order) if counts[i]]


def _alive(folder: Folder, rows: pa.Table) -> list[bool]:
    if not folder.resumed or "attempt" not in rows.column_names or "step" not in rows.column_names:
        return [True] * len(rows)
    attempt, step = (np.asarray(pc.fill_null(rows[name], -1)) for name in ("attempt", "step"))
    found: list[bool] = merge.alive(attempt, step, folder.resumed).tolist()
    return found
