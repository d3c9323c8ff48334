"""Tables of a run as Arrow: what all its files hold, with the rows of abandoned attempts left out and rows about one thing folded."""

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
from rollscope.store.sealed.select import full_table, some_rows

EVERY_ATTEMPT = (
    "metrics",
    "spans",
    "host",
    "notes",
)  # what was measured or said stands, whatever became of its attempt


def types(table: str) -> Mapping[str, str]:
    return {column.name: column.type for column in TABLES[table]}


def alive(folder: Folder, rows: pa.Table) -> pa.Table:
    """Without what an older attempt wrote at steps a newer one took over. A row without a step belongs to none."""
    if not folder.resumed or "attempt" not in rows.column_names or "step" not in rows.column_names:
        return rows
    attempt, step = (np.asarray(pc.fill_null(rows[name], -1)) for name in ("attempt", "step"))
    return rows.filter(pa.array(merge.alive(attempt, step, folder.resumed)))


def whole(folder: Folder, name: str, columns: Sequence[str] | None) -> pa.Table:
    if name not in TABLES:
        raise BadInput(f"no table {name!r}: there are {', '.join(TABLES)}.{nearest(name, TABLES)}")
    pieces = [full_table(piece, name) for piece in folder.sets if f"{name}.parquet" in piece.files]
    pieces += [piece for tail in folder.tails.values() for piece in _live(folder, tail, name)]
    rows = fold.join(pieces, arrow.schema(arrow.fields(name)))
    rows = named(rows if name in EVERY_ATTEMPT else alive(folder, rows), folder)
    return rows if columns is None else rows.select([*known(name, columns), arrow.ESCAPED])


def _live(folder: Folder, tail: Tail, name: str) -> list[pa.Table]:
    return (
        [metric_table.table(tail.metrics.everything(), folder.words, folder.name)]
        if name == "metrics"
        else tail.tables(name)
    )


def named(rows: pa.Table, folder: Folder) -> pa.Table:
    """With the run's id in the column `run`, whether or not the row carries it."""
    if "run" not in rows.column_names or not rows["run"].null_count:
        return rows
    return rows.set_column(rows.column_names.index("run"), "run", pc.fill_null(rows["run"], folder.name))


def known(table: str, columns: Sequence[str]) -> list[str]:
    known = types(table)
    for name in columns:
        if name not in known:
            raise BadInput(f"no column {name!r} in {table}: there are {', '.join(known)}.{nearest(name, known)}")
    return list(dict.fromkeys(columns))


def of_steps(folder: Folder, name: str, steps: Sequence[int]) -> pa.Table:
    """The narrow columns of a table for some steps, of the attempts that count; only row groups that may hold them are read."""
    wanted = pa.array(steps, pa.int64())
    sealed = [
        (file, piece)
        for piece in folder.sets
        if (file := piece.files.get(f"{name}.parquet")) is not None and piece.steps_of(name).keys() & set(steps)
    ]
    pieces = [file.read(None, file.groups_of_steps(steps)) for file, _ in sealed]
    pieces += [piece for tail in folder.tails.values() for piece in tail.tables(name) if "step" in piece.column_names]
    pieces = [piece.filter(pc.is_in(piece["step"], wanted)) for piece in pieces]
    return alive(folder, fold.join(pieces, arrow.schema(arrow.fields(name))))


def spans(
    folder: Folder, lo_ns: int | None, hi_ns: int | None, lanes: Sequence[str] | None, step: int | None
) -> pa.Table:
    rows = whole(folder, "spans", None)
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
    return rows.take(
        pc.sort_indices(rows, sort_keys=[("start_ns", "ascending")])
    )  # `sort_by` would import pandas, where there is one


def one_sample(found: Mapping[str, Any], id: str) -> dict[str, Any]:
    if not len(found["id"]):
        raise NotFound(f"no sample {id!r} in this run. List some: run.samples(limit=10, columns=['id', 'step'])")
    return {name: values[0] for name, values in found.items()}


def turns(folder: Folder, samples: Sequence[str] | None) -> pa.Table:
    """The turns of some samples, or all, in order. Of a sealed set only the row groups that hold them are read."""
    rows = whole(folder, "turns", None) if samples is None else _turns_of(folder, arrow.strings(list(samples))[0])
    return rows.sort_by([("sample", "ascending"), ("turn", "ascending")])


def _turns_of(folder: Folder, samples: pa.Array) -> pa.Table:
    pieces = []
    for piece in folder.sets:
        if "turns.parquet" in piece.files:
            names, codes, rows = piece.turns
            pieces.append(some_rows(piece, "turns", rows[np.isin(codes, np.flatnonzero(pc.is_in(names, samples)))]))
    pieces += [
        piece.filter(pc.is_in(piece["sample"], samples))
        for tail in folder.tails.values()
        for piece in tail.tables("turns")
    ]
    return named(alive(folder, fold.join(pieces, arrow.schema(arrow.fields("turns")))), folder)
