"""The rows of a new set in their final order, a part at a time, so any size fits in little memory.

Metrics come a few names at a time, since every set is sorted by name. Of a table, only the columns
that decide the order are read first: they tell which rows of which sets come next and belong
together; those rows are then read with all their columns, folded and passed on.
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
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

METRIC_ROWS = 1 << 18  # at once
BYTES = 32 << 20  # of a table at once, as stored
MOST_ROWS = 1 << 17
ALWAYS = ("step", "attempt", "writer", arrow.SEQ, arrow.ESCAPED)  # columns that every file has
ORDER = {
    "samples": ("step", "attempt", "group", "repeat"),
    "turns": ("step", "sample", "turn"),
    "spans": ("start_ns",),
    "host": ("device", "name", "time_ns"),
    "evals": ("set", "step", "task", "repeat"),
}
FOLDED = ("id", "attempt", "writer", "time_ns", arrow.SEQ)  # columns that folding samples needs


@dataclass(slots=True)
class Stream:
    """A table in its final order. `columns` are the columns that have a value in some row."""

    columns: set[str]
    tables: Iterable[pa.Table]


def of_log(name: str, tables: Sequence[pa.Table]) -> Stream:
    """A table of a log, which is small enough to be one part."""
    rows = _ordered(name, pa.concat_tables(tables, promote_options="default"))
    return Stream({*ALWAYS, *(c for c in rows.column_names if rows[c].null_count < len(rows))}, [rows])


def of_sets(name: str, sets: Sequence[SealedSet]) -> Stream:
    """A table of several sets as one."""
    holders = [sealed for sealed in sets if f"{name}.parquet" in sealed.files]
    columns = {*ALWAYS, *(column for file in _files(name, holders) for column in file.columns)}
    return Stream(columns, (_ordered(name, _gathered(name, holders, rows)) for rows in _plan(name, holders)))


def _files(name: str, holders: Sequence[SealedSet]) -> list[SealedFile]:
    files = (f"{name}.parquet", f"{name}.text.parquet")
    return [sealed.files[file] for sealed in holders for file in files if file in sealed.files]


def _ordered(name: str, rows: pa.Table) -> pa.Table:
    """Sort rows so that rows read together lie together. Rows of one sample are folded."""
    rows = arrow.conformed(rows, arrow.fields(name))
    if name == "samples":
        rows = fold.fold_attempts(rows)
    order = [(column, "ascending") for column in ORDER.get(name, ())]
    return rows.take(pc.sort_indices(rows, sort_keys=order)) if order else rows


def _gathered(name: str, holders: Sequence[SealedSet], rows: Sequence[Ints]) -> pa.Table:
    pairs = zip(holders, rows, strict=True)
    return pa.concat_tables([select.some_rows(sealed, name, numbers) for sealed, numbers in pairs if len(numbers)])


def _plan(name: str, holders: Sequence[SealedSet]) -> Iterator[list[Ints]]:
    """The rows of each set that make the next part."""
    position = _positions(name, holders)
    if not len(position):
        return
    order = np.argsort(position, kind="stable")
    starts = np.cumsum([0, *(sealed.files[f"{name}.parquet"].rows for sealed in holders)])
    size = _rows_at_once(name, holders)
    bounds = np.searchsorted(position[order], np.arange(0, int(position.max()) + 1 + size, size)).tolist()
    for lo, hi in pairwise(bounds):
        rows = np.sort(order[lo:hi])
        ends = np.searchsorted(rows, starts)
        yield [rows[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], starts[:-1], strict=True)]


def _positions(name: str, holders: Sequence[SealedSet]) -> Ints:
    """The position of each row in the merged table, over the sets end to end.

    Rows of one sample have the same position.
    """
    keys = tuple(dict.fromkeys([*ORDER.get(name, ()), *(FOLDED if name == "samples" else ())]))
    if not keys:
        return np.arange(sum(sealed.files[f"{name}.parquet"].rows for sealed in holders))
    schema = pa.schema([field for field in arrow.schema(arrow.fields(name)) if field.name in keys])
    rows = fold.join([sealed.files[f"{name}.parquet"].read(keys) for sealed in holders], schema)
    codes = fold.codes_of(fold.attempt_key(rows)) if name == "samples" else np.arange(len(rows))
    rows = rows.append_column("code", pa.array(codes))
    rows = fold.fold_attempts(rows) if name == "samples" else rows
    order = pc.sort_indices(rows, sort_keys=[(column, "ascending") for column in ORDER[name]])
    position = np.empty(len(rows), np.int64)
    position[np.asarray(rows["code"].take(order))] = np.arange(len(rows))
    return position[codes]


def _rows_at_once(name: str, holders: Sequence[SealedSet]) -> int:
    files = _files(name, holders)
    total = sum(file.metadata.row_group(i).total_byte_size for file in files for i in range(len(file.groups)))
    rows = sum(sealed.files[f"{name}.parquet"].rows for sealed in holders)
    return int(max(1, min(MOST_ROWS, BYTES * rows // max(total, 1))))


def metrics_of(sets: Sequence[SealedSet]) -> Iterator[NamedRows]:
    """The metric rows of several sets in order of their names, a few names at a time."""
    listed = [list(sealed.names) for sealed in sets]
    counts: dict[str, int] = {}
    for sealed, names in zip(sets, listed, strict=True):
        for name, rows in zip(names, sealed.columns["rows"].tolist() if names else (), strict=True):
            counts[name] = counts.get(name, 0) + rows
    every = sorted(counts)
    for lo, hi in batch_bounds(np.array([counts[name] for name in every], np.int64), METRIC_ROWS):
        parts = []
        for sealed, names in zip(sets, listed, strict=True):
            first = bisect_left(names, every[lo])
            after = bisect_left(names, every[hi]) if hi < len(every) else len(names)
            parts += [sealed.some_names(first, after)] if first < after else []
        yield NamedRows.join(parts)
