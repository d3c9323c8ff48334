"""The tables of one or more runs as DuckDB views, for SQL: what is sealed where it lies, what is live as it stands now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from . import arrow, fold, sql, state, tables
from .folder import Folder
from .schema import TABLES


def ask(folders: Sequence[Folder], query: str, parameters: Any, seconds: float) -> pa.Table:
    connection = sql.connect()
    try:
        sql.check(connection, query)
        for name in TABLES:
            if name in query:
                connection.register(name, _view(folders, name))
        sql.lock(connection)
        return sql.ask(connection, query, parameters, seconds)
    finally:
        connection.close()


def _view(folders: Sequence[Folder], name: str) -> pa.Table:
    columns = [column.name for column in TABLES[name]]
    if name == "runs":
        rows = [state.row(folder) for folder in folders]
        return pa.Table.from_pylist(rows, arrow.schema(TABLES[name])).select(columns)
    if name == "metrics":
        return pa.concat_tables([metrics(folder) for folder in folders]).select(columns)
    return pa.concat_tables([tables.whole(folder, name, None) for folder in folders]).select(columns)


def metrics(folder: Folder) -> pa.Table:
    """Every metric row as it was written: one per writer and call, of every attempt."""
    pieces = [tail_metrics(folder, tail_name) for tail_name in folder.tails]
    return tables.named(fold.join([p for p in pieces if len(p)], arrow.schema(TABLES["metrics"])), folder)


def tail_metrics(folder: Folder, tail_name: str) -> pa.Table:
    """The metrics of a log as rows, names in order of appearance."""
    tail, words = folder.tails[tail_name], folder.words.words
    found: dict[str, list[Any]] = {}
    for name in tail.metrics.where:
        rows = tail.metrics.rows(name)
        env, split, clock = zip(*((*words[code].split("\x1f"), "", "", "")[:3] for code in rows.where.tolist()), strict=True)
        columns = {
            "step": pa.array(rows.step),
            "time_ns": pa.array(rows.time_ns),
            "name": pa.repeat(pa.scalar(arrow.strings([name])[0][0].as_py(), pa.large_string()), len(rows)),
            "value": pa.array(rows.value),
            "weight": pa.array(rows.weight, mask=np.isnan(rows.weight)),
            "kind": pa.array([words[code] for code in rows.kind.tolist()], pa.large_string()),
            "state": _states(rows.state.flat, rows.state.ends),
            "writer": pa.repeat(pa.scalar(tail.writer, pa.large_string()), len(rows)),
            "rank": pa.array(rows.rank),
            "attempt": pa.array(rows.attempt),
            "env": pa.array([word or None for word in env], pa.large_string()),
            "split": pa.array([word or "train" for word in split], pa.large_string()),
            "clock": pa.array([word or None for word in clock], pa.large_string()),
            arrow.SEQ: pa.array(rows.seq),
        }
        for key, values in columns.items():
            found.setdefault(key, []).append(values)
    return pa.table({key: pa.chunked_array(values) for key, values in found.items()})


def _states(flat: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> pa.Array:
    starts = np.concatenate([[0], ends])
    empty = np.diff(starts) == 0
    valid = pa.py_buffer(np.packbits(~empty, bitorder="little"))
    return pa.LargeListArray.from_buffers(
        arrow.TYPES["float64[]"], len(ends), [valid, pa.py_buffer(starts.astype(np.int64))], int(empty.sum()), 0, [pa.array(flat)]
    )
