"""What goes into a set, piece by piece in its final order, so that a set of any size passes through little memory.

Metrics come a few names at a time, since every set is sorted by name. Of a table only the columns that decide the order are read first: they
say which rows, of which sets, come next and belong together; those are then read with all their columns, folded and handed on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.numbers import fold
from rollscope.store.numbers.rows import Ints, NamedRows, batch_bounds
from rollscope.store.sealed import select
from rollscope.store.sealed.reader import SealedSet

METRIC_ROWS = 1 << 18  # at once
BYTES = 32 << 20  # of rows of a table at once, as they lie in the file
MOST_ROWS = 1 << 17
KEPT = ("step", "attempt", "writer", arrow.SEQ, arrow.ESCAPED)
ORDER = {
    "samples": ("step", "attempt", "group", "repeat"),
    "turns": ("step", "sample", "turn"),
    "spans": ("start_ns",),
    "host": ("device", "name", "time_ns"),
    "evals": ("set", "step", "task", "repeat"),
}
FOLDED = ("id", "attempt", "writer", "time_ns", arrow.SEQ)  # what folding samples goes by


@dataclass(slots=True)
class Stream:
    """A table in its final order. `said` are the columns that some row says something about."""

    said: set[str]
    pieces: Iterable[pa.Table]


def of_log(name: str, tables: Sequence[pa.Table]) -> Stream:
    """A table of a log, which is small enough to be one piece."""
    found = ready(name, pa.concat_tables(tables, promote_options="default"))
    return Stream({*KEPT, *(c for c in found.column_names if found[c].null_count < len(found))}, [found])


def of_sets(name: str, found: Sequence[SealedSet]) -> Stream:
    """A table of several sets as one."""
    holders = [piece for piece in found if f"{name}.parquet" in piece.files]
    files = [
        piece.files[file]
        for piece in holders
        for file in (f"{name}.parquet", f"{name}.text.parquet")
        if file in piece.files
    ]
    said = {*KEPT, *(column for file in files for column in file.columns)}
    return Stream(said, (ready(name, _gathered(name, holders, rows)) for rows in _plan(name, holders)))


def ready(name: str, found: pa.Table) -> pa.Table:
    """In the order that keeps what is asked for together, with rows about one sample folded."""
    found = arrow.conformed(found, arrow.fields(name))
    if name == "samples":
        found = fold.fold_attempts(found)
    order = [(column, "ascending") for column in ORDER.get(name, ())]
    return found.take(pc.sort_indices(found, sort_keys=order)) if order else found


def _gathered(name: str, holders: Sequence[SealedSet], rows: Sequence[Ints]) -> pa.Table:
    return pa.concat_tables(
        [select.some_rows(piece, name, numbers) for piece, numbers in zip(holders, rows, strict=True) if len(numbers)]
    )


def _plan(name: str, holders: Sequence[SealedSet]) -> Iterator[list[Ints]]:
    """Which rows of each set make the next piece."""
    counts = [piece.files[f"{name}.parquet"].rows for piece in holders]
    place = _places(name, holders)
    order = np.argsort(place, kind="stable")
    starts = np.cumsum([0, *counts])
    size = _rows_at_once(name, holders)
    bounds = (
        np.searchsorted(place[order], np.arange(0, int(place.max()) + 1 + size, size)).tolist() if len(place) else []
    )
    for lo, hi in pairwise(bounds):
        rows = np.sort(order[lo:hi])
        ends = np.searchsorted(rows, starts)
        yield [rows[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], starts[:-1], strict=True)]


def _places(name: str, holders: Sequence[SealedSet]) -> Ints:
    """Where in the merged table each row goes, over the sets end to end. Rows about one sample go to one place."""
    keys = tuple(dict.fromkeys([*ORDER.get(name, ()), *(FOLDED if name == "samples" else ())]))
    if not keys:
        return np.arange(sum(piece.files[f"{name}.parquet"].rows for piece in holders))
    schema = pa.schema([field for field in arrow.schema(arrow.fields(name)) if field.name in keys])
    rows = fold.join([piece.files[f"{name}.parquet"].read(keys) for piece in holders], schema)
    codes = fold.codes_of(fold.attempt_key(rows)) if name == "samples" else np.arange(len(rows))
    rows = rows.append_column("place", pa.array(codes))
    rows = fold.fold_attempts(rows) if name == "samples" else rows
    order = pc.sort_indices(rows, sort_keys=[(column, "ascending") for column in ORDER[name]])
    rank = np.empty(len(rows), np.int64)
    rank[np.asarray(rows["place"].take(order))] = np.arange(len(rows))
    return rank[codes]


def _rows_at_once(name: str, holders: Sequence[SealedSet]) -> int:
    files = [
        piece.files[file]
        for piece in holders
        for file in (f"{name}.parquet", f"{name}.text.parquet")
        if file in piece.files
    ]
    total = sum(file.metadata.row_group(i).total_byte_size for file in files for i in range(len(file.groups)))
    rows = sum(piece.files[f"{name}.parquet"].rows for piece in holders)
    return int(max(1, min(MOST_ROWS, BYTES * rows // max(total, 1))))


def metrics_of(found: Sequence[SealedSet]) -> Iterator[NamedRows]:
    """The metric rows of several sets, a few names at a time in their order."""
    listed = [list(piece.names) for piece in found]
    counts: dict[str, int] = {}
    for piece, names in zip(found, listed, strict=True):
        for name, rows in zip(names, piece.columns["rows"].tolist() if names else (), strict=True):
            counts[name] = counts.get(name, 0) + rows
    every = sorted(counts)
    for lo, hi in batch_bounds(np.array([counts[name] for name in every], np.int64), METRIC_ROWS):
        ends = [
            (bisect_left(names, every[lo]), bisect_left(names, every[hi]) if hi < len(every) else len(names))
            for names in listed
        ]
        yield NamedRows.join([piece.some_names(a, b) for piece, (a, b) in zip(found, ends, strict=True) if a < b])
