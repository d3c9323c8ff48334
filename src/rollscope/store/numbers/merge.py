"""Merge the rows of many processes into one value per step.

Within a writer, partials add and the latest plain number counts. Across writers, partials add and
plain numbers average, keeping the lowest and the highest beside the mean. The newest attempt wins:
after a resume at step s, rows of older attempts from s on are not drawn. If a name changes its kind
within a step, the kind written last counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .partial_sums import PartialOf, add, nothing_more
from .rows import Floats, Ints, Rows, Words, stretch_starts

PLAIN = ("", "scalar", "int")


@dataclass(slots=True)
class Points:
    """A merged series, ascending in step. `low` and `high` are the extremes over writers."""

    step: Ints
    time_ns: Ints
    value: Floats
    weight: Floats
    low: Floats
    high: Floats
    exact: Ints | None = None  # the integers, if every value is one

    def __len__(self) -> int:
        return len(self.step)

    def take(self, rows: Ints) -> Points:
        exact = None if self.exact is None else self.exact[rows]
        floats = (self.value[rows], self.weight[rows], self.low[rows], self.high[rows])
        return Points(self.step[rows], self.time_ns[rows], *floats, exact)


def alive(attempt: Ints, step: Ints, resumed: Mapping[int, int]) -> NDArray[np.bool_]:
    """Which rows count: not those an older attempt wrote from a newer one's first step on."""
    keep = np.ones(len(step), bool)
    for newer, first in resumed.items():
        keep &= (attempt >= newer) | (step < first)
    return keep


def merge(rows: Rows, words: Words, resumed: Mapping[int, int], partials: PartialOf = nothing_more) -> Points:
    if resumed:
        rows = rows.only(alive(rows.attempt, rows.step, resumed))
    if len(rows) < 2 or (np.diff(rows.step) > 0).all():
        return _as_written(rows, words)
    rows = rows.take(_order(rows))
    if (np.diff(rows.step) > 0).all():
        return _as_written(rows, words)
    return _merged(_one_kind(rows, words), words, partials)


def _order(rows: Rows) -> Ints:
    """Order rows by step, writer and time. Files that each ascend, the usual case, sort faster."""
    rising = np.diff(rows.step) > 0
    same_writer = np.diff(rows.writer) == 0
    if (rising | ~same_writer).all() and len(np.unique(rows.writer)) == int((~same_writer).sum()) + 1:
        return np.argsort(rows.step, kind="stable")
    return np.lexsort((rows.seq, rows.time_ns, rows.writer, rows.step))


def _as_written(rows: Rows, words: Words) -> Points:
    exact = None
    if len(rows) and (rows.kind == words.code("int")).all():
        high, low = rows.state.flat.reshape(-1, 2).astype(np.int64).T
        exact = (high << 32) | low
    return Points(rows.step, rows.time_ns, rows.value, rows.weight, rows.value, rows.value, exact)


def _one_kind(rows: Rows, words: Words) -> Rows:
    """Keep, of each step, the rows of the kind written last. An int counts as a plain number."""
    if (rows.kind == rows.kind[0]).all():
        return rows
    kind = np.where(rows.kind == words.code("int"), words.code("scalar"), rows.kind)
    starts = stretch_starts(rows.step)
    stretch = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))
    by_time = np.lexsort((rows.time_ns, stretch))
    latest = by_time[np.append(starts[1:], len(rows)) - 1]
    return rows.only(kind == kind[latest][stretch])


def _merged(rows: Rows, words: Words, partials: PartialOf) -> Points:
    plain = np.isin(rows.kind, [words.code(word) for word in PLAIN])
    kinds = [] if plain.all() else np.unique(rows.kind[~plain]).tolist()
    parts = [_average(rows.only(plain))] if plain.any() else []
    parts += [_added(rows.only(rows.kind == kind), words.words[kind], partials) for kind in kinds]
    names = ("step", "time_ns", "value", "weight", "low", "high")
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    order = np.argsort(columns[0], kind="stable")
    return Points(*(column[order] for column in columns))


def _average(rows: Rows) -> Points:
    starts = stretch_starts(rows.step, rows.writer)
    rows = rows.take(np.append(starts[1:], len(rows)) - 1)  # the last row of each writer
    starts = stretch_starts(rows.step)
    many = np.diff([*starts, len(rows)])
    mean = np.where(many > 1, _sums(rows.value, starts) / many, rows.value[starts])
    low, high = np.fmin.reduceat(rows.value, starts), np.fmax.reduceat(rows.value, starts)
    return Points(rows.step[starts], np.maximum.reduceat(rows.time_ns, starts), mean, rows.weight[starts], low, high)


def _sums(value: Floats, starts: Ints) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is a NaN that was logged
        return np.add.reduceat(value, starts)


def _added(rows: Rows, kind: str, partials: PartialOf) -> Points:
    starts = stretch_starts(rows.step)
    ends = np.append(starts[1:], len(rows))
    value, weight = rows.value[starts].copy(), rows.weight[starts].copy()
    many = np.flatnonzero(ends - starts > 1)
    if len(many):
        parts = rows.only(np.repeat(ends - starts > 1, ends - starts))
        value[many], weight[many] = add(kind, parts.state, stretch_starts(parts.step), partials)
    return Points(rows.step[starts], np.maximum.reduceat(rows.time_ns, starts), value, weight, value, value)
