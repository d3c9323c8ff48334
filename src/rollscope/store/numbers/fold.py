"""Rows about the same thing become one row: what a later row says fills in, or replaces, what an earlier one said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store.arrow import ESCAPED, SEQ


def join(pieces: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Pieces under one schema; a column that a piece lacks is null there."""
    if not pieces:
        return schema.empty_table()
    wanted = [
        [piece[f.name] if f.name in piece.column_names else pa.nulls(len(piece), f.type) for f in schema]
        for piece in pieces
    ]
    return pa.concat_tables([pa.table(columns, schema=schema) for columns in wanted])


def fold(rows: pa.Table, key: str, first: Sequence[str] = ("time_ns",)) -> pa.Table:
    """One row per key: of each column the last value that is not null, of those in `first` the first. Rows without a key stay."""
    codes = codes_of(rows[key])
    if len(codes) == 0 or codes.max() + 1 == len(codes):
        return rows
    rows = rows.take(pa.array(_oldest_first(rows)))
    codes = codes_of(rows[key])
    columns, sources = {}, {}
    for name in rows.column_names:
        valid = np.flatnonzero(np.asarray(rows[name].is_valid()))
        valid = valid[::-1] if name in first else valid
        source = np.full(codes.max() + 1, -1)
        source[codes[valid]] = valid  # of equal codes the last assignment stands
        sources[name] = source
        columns[name] = rows[name].take(pa.array(source, mask=source < 0))
    if ESCAPED in columns and rows[ESCAPED].null_count < len(rows):
        columns[ESCAPED] = _flags(rows[ESCAPED].to_pylist(), sources)
    return pa.table(columns)


def fold_attempts(rows: pa.Table) -> pa.Table:
    """Samples folded within their attempt: what an abandoned attempt said stays its own."""
    return fold(rows.append_column("\x1f", attempt_key(rows)), "\x1f").drop_columns("\x1f")


def attempt_key(rows: pa.Table) -> pa.ChunkedArray:
    """Id and attempt as one word; null where there is no id."""
    attempts = rows["attempt"].cast(pa.large_string()).fill_null("")
    joined = pc.binary_join_element_wise(rows["id"], attempts, pa.scalar("\x1f", pa.large_string()))
    return pc.if_else(rows["id"].is_valid(), joined, pa.scalar(None, pa.large_string()))


def codes_of(keys: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number per distinct key in order of appearance; each null is a thing of its own."""
    encoded = keys.combine_chunks().dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices.cast(pa.int64()), -1))
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        codes = codes.copy()
        codes[missing] = len(encoded.dictionary) + np.arange(len(missing))
    return codes


def _oldest_first(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Attempts in order, then files of a writer in order; across writers the clock decides."""
    n = len(rows)
    attempt = np.asarray(pc.fill_null(rows["attempt"], 0)) if "attempt" in rows.column_names else np.zeros(n)
    seq = np.asarray(pc.fill_null(rows[SEQ], 0)) if SEQ in rows.column_names else np.zeros(n)
    time = np.asarray(pc.fill_null(rows["time_ns"], 0)) if "time_ns" in rows.column_names else np.zeros(n)
    writers = (
        codes_of(rows["writer"]) if "writer" in rows.column_names and rows["writer"].null_count == 0 else np.zeros(n)
    )
    return np.lexsort((seq, attempt)) if len(np.unique(writers)) < 2 else np.lexsort((seq, time, attempt))


def _flags(flags: list[str | None], sources: dict[str, np.ndarray[Any, np.dtype[np.int64]]]) -> pa.Array:
    """Which columns of a folded row are escaped: those whose source was."""
    out: list[list[str]] = [[] for _ in next(iter(sources.values()))]
    marked = {i for i, flag in enumerate(flags) if flag}
    for name, source in sources.items():
        for i, row in enumerate(source.tolist()):
            if row in marked and name in (flags[row] or "").split(","):
                out[i].append(name)
    return pa.array([",".join(names) or None for names in out], pa.large_string())
