"""Fold rows with the same key into one row: a later row adds to an earlier one, or replaces it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow
from rollscope.store.arrow import ESCAPED, SEQ

from .rows import Ints

KEY = "\x1f"  # no column of a table has this name, and no id contains it


def join(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Concatenate tables under one schema; columns that a table lacks are null."""
    if not parts:
        return pa.table([pa.nulls(0, field.type) for field in schema], schema=schema)  # empty_table imports pandas
    return pa.concat_tables([_conformed(part, schema) for part in parts])


def _conformed(part: pa.Table, schema: pa.Schema) -> pa.Table:
    names = set(part.column_names)
    columns = [part[f.name] if f.name in names else arrow.nulls(len(part), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def fold(rows: pa.Table, key: str, first: Sequence[str] = ("time_ns",)) -> pa.Table:
    """One row per key, with the last value of each column that is not null.

    Columns in `first` keep their first value instead. Rows without a key stay as they are.
    """
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
        source[codes[valid]] = valid  # of equal codes the last assignment stays
        sources[name] = source
        columns[name] = rows[name].take(pa.array(source, mask=source < 0))
    if ESCAPED in columns and rows[ESCAPED].null_count < len(rows):
        columns[ESCAPED] = _flags(rows[ESCAPED].to_pylist(), sources)
    return pa.table(columns)


def fold_attempts(rows: pa.Table) -> pa.Table:
    """Fold samples within their attempt: rows of an abandoned attempt stay separate."""
    return fold(rows.append_column(KEY, attempt_key(rows)), KEY).drop_columns(KEY)


def attempt_key(rows: pa.Table) -> pa.ChunkedArray:
    """Id and attempt as one word; null where there is no id."""
    attempts = rows["attempt"].cast(pa.large_string()).fill_null("")
    joined = pc.binary_join_element_wise(rows["id"], attempts, pa.scalar(KEY, pa.large_string()))
    return pc.if_else(rows["id"].is_valid(), joined, pa.scalar(None, pa.large_string()))


def codes_of(keys: pa.ChunkedArray) -> Ints:
    """A number per distinct key, in order of appearance. Each null gets a number of its own."""
    encoded = keys.combine_chunks().dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices.cast(pa.int64()), -1))
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        codes = codes.copy()
        codes[missing] = len(encoded.dictionary) + np.arange(len(missing))
    return codes


def _oldest_first(rows: pa.Table) -> Ints:
    """Order rows by attempt, then by file of their writer; across writers the clock decides."""
    names = set(rows.column_names)
    attempt, seq, time = (
        np.asarray(pc.fill_null(rows[name], 0)) if name in names else np.zeros(len(rows))
        for name in ("attempt", SEQ, "time_ns")
    )
    known = "writer" in names and rows["writer"].null_count == 0
    writers = codes_of(rows["writer"]) if known else np.zeros(len(rows))
    return np.lexsort((seq, attempt)) if len(np.unique(writers)) < 2 else np.lexsort((seq, time, attempt))


def _flags(flags: list[str | None], sources: dict[str, Ints]) -> pa.Array:
    """The escaped columns of each folded row: those whose source row has them escaped."""
    out: list[list[str]] = [[] for _ in next(iter(sources.values()))]
    marked = {i for i, flag in enumerate(flags) if flag}
    for name, source in sources.items():
        for i, row in enumerate(source.tolist()):
            if row in marked and name in (flags[row] or "").split(","):
                out[i].append(name)
    return pa.array([",".join(names) or None for names in out], pa.large_string())
