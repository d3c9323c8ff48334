"""The names table of a sealed set: where each name lies in the file, and its last value.

A list of names reads no data. The table is made once, over values already merged. If merging needs
more than this set (several attempts or scopes, a kind it cannot add), the column `whole` is false
and the name is read from its rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store import arrow
from rollscope.store.numbers.merge import Points, merge
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, Words

from . import pyramid

Flags = NDArray[np.bool_]
COLUMNS = [
    *("name", "escaped", "kind", "row", "rows", "plain", "one", "writer", "seq", "rank"),
    *("whole", "attempt", "step_lo", "step_hi", "points", "last", "time_ns"),
    *(f"block_{size}" for size in pyramid.LEVELS),
]


def tables(named: NamedRows, words: Words) -> dict[str, pa.Table]:
    """The names table and the levels of the pyramid, as they are stored, of sorted rows."""
    points, counts, complete = _merged(named, words)
    columns = _columns(named, words) | _last_values(points, counts)
    bounds = _name_bounds(named)
    plain_scope = np.minimum.reduceat(named.rows.scope, bounds[:-1]) == 0 if len(named.rows) else complete
    columns["whole"] = pa.array(complete & plain_scope)
    levels = pyramid.levels(points, counts)
    columns |= {f"block_{size}": pa.array(begins) for size, (_, begins) in levels.items()}
    stored = {f"pyramid_{size}": pyramid.stored(summaries) for size, (summaries, _) in levels.items()}
    return {"names": pa.table([columns[name] for name in COLUMNS], COLUMNS), **stored}


def joined(parts: Sequence[dict[str, pa.Table]]) -> dict[str, pa.Table]:
    """Join the tables of several batches of names; row and block numbers continue."""
    offsets: dict[str, int] = {}
    out: dict[str, list[pa.Table]] = {}
    for part in parts:
        names = part["names"]
        sizes = {"row": int(names["rows"].to_numpy().sum())}
        sizes |= {f"block_{level}": len(part[f"pyramid_{level}"]) for level in pyramid.LEVELS}
        for column, size in sizes.items():
            moved = pa.array(names[column].to_numpy() + offsets.get(column, 0))
            names = names.set_column(names.column_names.index(column), column, moved)
            offsets[column] = offsets.get(column, 0) + size
        for name, table in {**part, "names": names}.items():
            out.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables).combine_chunks() for name, tables in out.items()}


def _name_bounds(named: NamedRows) -> Ints:
    """The row at which each name begins, and the end."""
    return np.searchsorted(named.name, np.arange(len(named.names) + 1))


# ---- merged series


def _merged(named: NamedRows, words: Words) -> tuple[Points, Ints, Flags]:
    """The series of all names end to end, how many points each has, and which are complete."""
    bounds, rows = _name_bounds(named), named.rows
    same = np.diff(named.name) == 0
    ascending = np.diff(rows.step) > 0
    one = (np.diff(rows.attempt) == 0) & (np.diff(rows.scope) == 0)
    simple = np.ones(len(named.names), bool)
    simple[named.name[1:][same & ~(ascending & one)]] = False
    counts, complete = np.diff(bounds), np.ones(len(named.names), bool)
    if simple.all():
        return Points(rows.step, rows.time_ns, rows.value, rows.weight, rows.value, rows.value), counts, complete
    merged: dict[int, Points | None] = {}
    for i in np.flatnonzero(~simple).tolist():
        points = merged[i] = _points(rows.take(np.arange(bounds[i], bounds[i + 1])).unscoped(), words)
        counts[i], complete[i] = (0, False) if points is None else (len(points), True)
    return _end_to_end(named, bounds, simple, merged, counts), counts, complete


def _end_to_end(
    named: NamedRows, bounds: Ints, simple: Flags, merged: dict[int, Points | None], counts: Ints
) -> Points:
    """Series end to end: the rows of simple names as they are, merged points of the others."""
    starts = np.cumsum(counts) - counts
    source = np.flatnonzero(simple[named.name])
    target = starts[named.name[source]] + source - bounds[named.name[source]]
    columns = []
    for name in ("step", "time_ns", "value", "weight", "low", "high"):
        written = getattr(named.rows, "value" if name in ("low", "high") else name)
        column = np.empty(int(counts.sum()), written.dtype)
        column[target] = written[source]
        for i, points in merged.items():
            if points is not None:
                column[starts[i] : starts[i] + counts[i]] = getattr(points, name)
        columns.append(column)
    return Points(*columns)


def _points(rows: Rows, words: Words) -> Points | None:
    """The merged points of a name; None if they need more than these rows."""
    if (rows.attempt != rows.attempt[0]).any() or (rows.scope != rows.scope[0]).any():
        return None
    try:
        return merge(rows, words, {})
    except BadInput:  # a kind that only `rollscope.open` can add
        return None


# ---- columns of the names table


def _columns(named: NamedRows, words: Words) -> dict[str, pa.Array]:
    """The columns that come from the rows of a name."""
    bounds, rows = _name_bounds(named), named.rows
    begins, last = bounds[:-1], bounds[1:] - 1
    names, escaped_rows = arrow.strings(named.names)
    escaped = np.zeros(len(named.names), bool)
    escaped[escaped_rows] = True
    return {
        "name": names,
        "escaped": pa.array(escaped),
        "kind": pa.array([words.words[code] for code in rows.kind[last].tolist()], pa.large_string()),
        "row": pa.array(begins),
        "rows": pa.array(np.diff(bounds)),
        "plain": pa.array(_all_plain(named, words)),
        "one": pa.array(_one_writer(named)),
        "writer": pa.array([words.words[code] for code in rows.writer[last].tolist()], pa.large_string()),
        "seq": pa.array(rows.seq[last]),
        "rank": pa.array(rows.rank[last]),
        "attempt": pa.array(rows.attempt[last]),
        "step_lo": pa.array(np.minimum.reduceat(rows.step, begins) if len(rows) else begins),
        "step_hi": pa.array(np.maximum.reduceat(rows.step, begins) if len(rows) else begins),
    }


def _last_values(points: Points, counts: Ints) -> dict[str, pa.Array]:
    """The columns that come from the merged points of a name."""
    some, at = counts > 0, np.maximum(np.cumsum(counts) - 1, 0)
    last, time_ns = np.full(len(counts), np.nan), np.full(len(counts), -1)
    if len(points):
        last, time_ns = np.where(some, points.value[at], np.nan), np.where(some, points.time_ns[at], -1)
    return {"points": pa.array(counts), "last": pa.array(last), "time_ns": pa.array(time_ns)}


def _all_plain(named: NamedRows, words: Words) -> Flags:
    plain = np.ones(len(named.names), bool)
    plain[named.name[~np.isin(named.rows.kind, [words.code(""), words.code("scalar")])]] = False
    return plain


def _one_writer(named: NamedRows) -> Flags:
    """Names whose rows differ only in step, time and value: a reader reads just these three."""
    one, rows, same = np.ones(len(named.names), bool), named.rows, np.diff(named.name) == 0
    for column in (rows.writer, rows.seq, rows.rank, rows.kind, rows.attempt, rows.scope):
        one[named.name[1:][same & (np.diff(column) != 0)]] = False
    one[named.name[rows.scope != 0]] = False
    return one
