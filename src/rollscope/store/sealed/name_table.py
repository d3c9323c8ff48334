"""The names of a sealed set: where each lies in the file, and what its last value was, so that a list of names reads no data.

Beside them the pyramid: each series in blocks of 64 and of 4,096 points. Both are made once, over values already merged; where
merging needs more than this set (several attempts, environments, kinds it cannot add) a name says so and is read from its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.errors import BadInput
from rollscope.store import arrow
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points, merge
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, Words

LEVELS = (64, 4096)


def name_bounds(named: NamedRows) -> Ints:
    """Where each name begins among sorted rows, and the end."""
    return np.searchsorted(named.name, np.arange(len(named.names) + 1))


def merged(named: NamedRows, words: Words) -> tuple[Points, Ints, Ints]:
    """The series of every name end to end, how many points each has, and which are whole."""
    bounds, rows = name_bounds(named), named.rows
    same = np.diff(named.name) == 0
    ascending = np.diff(rows.step) > 0
    one = (np.diff(rows.attempt) == 0) & (np.diff(rows.scope) == 0)
    simple = np.ones(len(named.names), bool)
    simple[named.name[1:][same & ~(ascending & one)]] = False
    if simple.all():
        points = Points(rows.step, rows.time_ns, rows.value, rows.weight, rows.value, rows.value)
        return points, np.diff(bounds), np.ones(len(named.names), np.int64)
    parts = {
        i: _points(rows.take(np.arange(bounds[i], bounds[i + 1])).unscoped(), words)
        for i in np.flatnonzero(~simple).tolist()
    }
    counts, whole = np.diff(bounds), np.ones(len(named.names), np.int64)
    for i, part in parts.items():
        counts[i], whole[i] = (0, 0) if part is None else (len(part), 1)
    return _put_together(named, bounds, simple, parts, counts), counts, whole


def _put_together(
    named: NamedRows,
    bounds: Ints,
    simple: np.ndarray[Any, np.dtype[np.bool_]],
    parts: dict[int, Points | None],
    counts: Ints,
) -> Points:
    """Series end to end: rows as they are where they are simple, merged points elsewhere."""
    starts = np.cumsum(counts) - counts
    source = np.flatnonzero(simple[named.name])
    target = starts[named.name[source]] + source - bounds[named.name[source]]
    columns = []
    for name in ("step", "time_ns", "value", "weight", "low", "high"):
        written = getattr(named.rows, "value" if name in ("low", "high") else name)
        column = np.empty(int(counts.sum()), written.dtype)
        column[target] = written[source]
        for i, part in parts.items():
            if part is not None:
                column[starts[i] : starts[i] + counts[i]] = getattr(part, name)
        columns.append(column)
    return Points(*columns)


def _points(rows: Rows, words: Words) -> Points | None:
    if (rows.attempt != rows.attempt[0]).any() or (rows.scope != rows.scope[0]).any():
        return None
    try:
        return merge(rows, words, {})
    except BadInput:  # a kind that only `rollscope.open` can add
        return None


def tables(named: NamedRows, words: Words) -> dict[str, pa.Table]:
    """The names table and the pyramid's levels, as they are stored."""
    points, counts, whole = merged(named, words)
    ends = np.cumsum(counts)
    bounds, rows = name_bounds(named), named.rows
    last = bounds[1:] - 1
    at = np.maximum(ends - 1, 0)
    some = counts > 0
    texts, bad = arrow.strings(named.names)
    escaped = np.zeros(len(named.names), bool)
    escaped[bad] = True
    columns = {
        "name": texts,
        "escaped": pa.array(escaped),
        "kind": pa.array([words.words[code] for code in rows.kind[last].tolist()], pa.large_string()),
        "row": pa.array(bounds[:-1]),
        "rows": pa.array(np.diff(bounds)),
        "plain": pa.array(_all_plain(named, words)),
        "one": pa.array(_one_writer(named)),
        "writer": pa.array([words.words[code] for code in rows.writer[last].tolist()], pa.large_string()),
        "seq": pa.array(rows.seq[last]),
        "rank": pa.array(rows.rank[last]),
        "whole": pa.array(
            whole.astype(bool)
            & (np.minimum.reduceat(rows.scope, bounds[:-1]) == 0 if len(rows) else whole.astype(bool))
        ),
        "attempt": pa.array(rows.attempt[last]),
        "step_lo": pa.array(np.minimum.reduceat(rows.step, bounds[:-1]) if len(rows) else bounds[:-1]),
        "step_hi": pa.array(np.maximum.reduceat(rows.step, bounds[:-1]) if len(rows) else bounds[:-1]),
        "points": pa.array(counts),
        "last": pa.array(np.where(some, points.value[at], np.nan) if len(points) else np.full(len(counts), np.nan)),
        "time_ns": pa.array(np.where(some, points.time_ns[at], -1) if len(points) else np.full(len(counts), -1)),
    }
    levels = pyramid(points, counts)
    for size, (_, begins) in levels.items():
        columns[f"block_{size}"] = pa.array(begins)
    return {"names": pa.table(columns), **{f"pyramid_{size}": _stored(blocks) for size, (blocks, _) in levels.items()}}


def joined(parts: Sequence[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """The summaries of a whole set from those of its batches: what counts rows or blocks goes on where the last batch ended."""
    base: dict[str, int] = {}
    out: dict[str, list[pa.Table]] = {}
    for part in parts:
        moved = part["names"]
        for column, size in (
            ("row", int(moved["rows"].to_numpy().sum())),
            *((f"block_{level}", len(part[f"pyramid_{level}"])) for level in LEVELS),
        ):
            at = moved.column_names.index(column)
            moved = moved.set_column(at, column, pa.array(moved[column].to_numpy() + base.get(column, 0)))
            base[column] = base.get(column, 0) + size
        for name, table in {**part, "names": moved}.items():
            out.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables).combine_chunks() for name, tables in out.items()}


def _all_plain(named: NamedRows, words: Words) -> np.ndarray[Any, np.dtype[np.bool_]]:
    plain = np.ones(len(named.names), bool)
    plain[named.name[~np.isin(named.rows.kind, [words.code(""), words.code("scalar")])]] = False
    return plain


def _one_writer(named: NamedRows) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Names whose rows differ in nothing but step, time and value: reading those three is enough."""
    one, rows, same = np.ones(len(named.names), bool), named.rows, np.diff(named.name) == 0
    for column in (rows.writer, rows.seq, rows.rank, rows.kind, rows.attempt, rows.scope):
        one[named.name[1:][same & (np.diff(column) != 0)]] = False
    one[named.name[rows.scope != 0]] = False
    return one


def pyramid(points: Points, counts: Ints) -> dict[int, tuple[Summaries, Ints]]:
    """Summaries of each level, and where each name's begin."""
    blocks, found = Summaries.of(points), {}
    size = 1
    for level in LEVELS:
        blocks, counts = _coarser(blocks, counts, level // size)
        found[level] = (blocks, np.cumsum(counts) - counts)
        size = level
    return found


def _coarser(blocks: Summaries, counts: Ints, by: int) -> tuple[Summaries, Ints]:
    coarse = -(-counts // by)
    first = np.cumsum(counts) - counts
    within = np.arange(int(coarse.sum())) - np.repeat(np.cumsum(coarse) - coarse, coarse)
    return blocks.merged(np.repeat(first, coarse) + by * within), coarse


def _stored(blocks: Summaries) -> pa.Table:
    narrow = ("count", "nan", "posinf", "neginf")
    return pa.table(
        {
            f.name: getattr(blocks, f.name).astype(np.int32) if f.name in narrow else getattr(blocks, f.name)
            for f in fields(blocks)
        }
    )


def blocks_of(stored: pa.Table) -> Summaries:
    return Summaries(*(arrow.numbers(stored[f.name]) for f in fields(Summaries)))
