"""Tables of a run as Arrow, from all its files, without the rows of abandoned attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput, NotFound, nearest
from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.numbers import fold, merge
from rollscope.store.schema import TABLES
from rollscope.store.sealed import metric_table
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.recent_groups import RecentGroups
from rollscope.store.sealed.select import full_table, some_rows

# measurements and notes stay, even if their attempt was abandoned
EVERY_ATTEMPT = ("metrics", "spans", "host", "notes")
NEEDED = ("attempt", "step", arrow.ESCAPED)  # columns that say which rows count, and how to read them


def types(table: str) -> Mapping[str, str]:
    return {column.name: column.type for column in TABLES[table]}


def alive(folder: Folder, rows: pa.Table) -> pa.Table:
    """Drop rows of an older attempt at steps a newer one took over. Rows without a step stay."""
    if not folder.resumed or "attempt" not in rows.column_names or "step" not in rows.column_names:
        return rows
    attempt, step = (np.asarray(pc.fill_null(rows[name], -1)) for name in ("attempt", "step"))
    return rows.filter(pa.array(merge.alive(attempt, step, folder.resumed)))


def read(folder: Folder, name: str, columns: Sequence[str] | None) -> pa.Table:
    """All rows of a table that count, with all columns or some."""
    if name not in TABLES:
        raise BadInput(f"no table {name!r}: there are {', '.join(TABLES)}.{nearest(name, TABLES)}")
    needed = None if columns is None else [*known(name, columns), *NEEDED]
    parts = [full_table(sealed, name, needed) for sealed in folder.sets if f"{name}.parquet" in sealed.files]
    parts += [part for tail in folder.tails.values() for part in _live(folder, tail, name, needed)]
    rows = fold.join(parts, arrow.schema(arrow.fields(name)))
    rows = rows if name in EVERY_ATTEMPT else alive(folder, rows)
    rows = with_run(rows, folder) if columns is None or "run" in columns else rows
    return rows if columns is None else rows.select([*known(name, columns), arrow.ESCAPED])


def _live(folder: Folder, tail: Tail, name: str, columns: Sequence[str] | None) -> list[pa.Table]:
    if name != "metrics":
        return [tail.rows(part, columns) for part in tail.parts(name)]
    return [metric_table.table(tail.metrics.everything(), folder.words, folder.name)]


def with_run(rows: pa.Table, folder: Folder) -> pa.Table:
    """Fill the column `run` with the run's id in rows that lack it."""
    if "run" not in rows.column_names or not rows["run"].null_count:
        return rows
    return rows.set_column(rows.column_names.index("run"), "run", pc.fill_null(rows["run"], folder.name))


def known(table: str, columns: Sequence[str]) -> list[str]:
    """Check that a table has these columns, and drop duplicates."""
    known = types(table)
    for name in columns:
        if name not in known:
            raise BadInput(f"no column {name!r} in {table}: there are {', '.join(known)}.{nearest(name, known)}")
    return list(dict.fromkeys(columns))


def of_steps(folder: Folder, name: str, steps: Sequence[int]) -> pa.Table:
    """The narrow columns of a table for some steps, of attempts that count.

    Only row groups that may have rows of these steps are read.
    """
    parts = []
    for sealed in folder.sets:
        file = sealed.files.get(f"{name}.parquet")
        parts += [] if file is None else [_recent(file, group) for group in file.groups_of_steps(steps)]
    for tail in folder.tails.values():
        parts += [part for part in tail.tables(name) if "step" in part.column_names]
    wanted = pa.array(steps, pa.int64())
    parts = [part.filter(pc.is_in(part["step"], wanted)) for part in parts]
    return alive(folder, fold.join(parts, arrow.schema(arrow.fields(name))))


def _read_group(file: SealedFile, group: int) -> pa.Table:
    return file.read(None, [group])


# A timeline asks for one step after another: most lie in the row group that was read last.
_recent = RecentGroups(_read_group, lambda rows: int(rows.nbytes), 96 << 20)


def spans(
    folder: Folder, lo_ns: int | None, hi_ns: int | None, lanes: Sequence[str] | None, step: int | None
) -> pa.Table:
    """Spans that overlap a stretch of time, on some lanes, of a step; ordered by start."""
    rows = read(folder, "spans", None)
    keep = pa.array(np.ones(len(rows), bool))
    if lo_ns is not None:
        keep = pc.and_(keep, pc.greater_equal(rows["end_ns"], lo_ns))
    if hi_ns is not None:
        keep = pc.and_(keep, pc.less_equal(rows["start_ns"], hi_ns))
    if lanes is not None:
        keep = pc.and_(keep, pc.is_in(rows["lane"], arrow.strings(lanes)[0]))
    if step is not None:
        keep = pc.and_(keep, pc.equal(rows["step"], step))
    rows = rows.filter(keep)
    order = pc.sort_indices(rows, sort_keys=[("start_ns", "ascending")])  # `sort_by` would import pandas, if installed
    return rows.take(order)


def one_sample(columns: Mapping[str, Any], id: str) -> dict[str, Any]:
    if not len(columns["id"]):
        raise NotFound(f"no sample {id!r} in this run. List some: run.samples(limit=10, columns=['id', 'step'])")
    return {name: values[0] for name, values in columns.items()}


def turns(folder: Folder, samples: Sequence[str] | None) -> pa.Table:
    """The turns of some samples, or all, in order. Only row groups that have them are read."""
    rows = read(folder, "turns", None) if samples is None else _turns_of(folder, arrow.strings(list(samples))[0])
    return rows.sort_by([("sample", "ascending"), ("turn", "ascending")])


def _turns_of(folder: Folder, samples: pa.Array) -> pa.Table:
    parts = []
    for sealed in folder.sets:
        if "turns.parquet" in sealed.files:
            ids, codes, rows = sealed.turns
            wanted = np.flatnonzero(pc.is_in(ids, samples))
            parts.append(some_rows(sealed, "turns", rows[np.isin(codes, wanted)]))
    for tail in folder.tails.values():
        for part in tail.parts("turns"):
            mine = np.flatnonzero(np.asarray(pc.is_in(part.narrow["sample"], samples)))
            parts.append(tail.rows(part, None, mine))
    return with_run(alive(folder, fold.join(parts, arrow.schema(arrow.fields("turns")))), folder)
