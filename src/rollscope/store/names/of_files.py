"""What each file of a run knows about its names, so that most questions need no rows."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Shape
from rollscope.store.numbers.merge import merge
from rollscope.store.numbers.rows import Floats, Ints
from rollscope.store.sealed.reader import SealedSet

TYPES = (bool, np.int64, np.int64, np.int64, np.int64, np.float64, np.int64)  # of the columns of `FileNames`


@dataclass(slots=True)
class FileNames:
    """The names of one sealed set or live log, as columns."""

    file: SealedSet | Tail
    names: list[str]
    kind: list[str]
    complete: NDArray[np.bool_]  # its points need no rows of other files, attempts or scopes
    attempt: Ints
    lo: Ints  # steps
    hi: Ints
    rows: Ints
    last: Floats
    time_ns: Ints


class NameFacts(NamedTuple):
    """What a live log knows about one of its names: a row of `FileNames`."""

    kind: str
    complete: bool
    attempt: int
    lo: int
    hi: int
    rows: int
    last: float
    time_ns: int


def of_set(sealed: SealedSet) -> FileNames:
    columns = sealed.columns if sealed.names else {}
    empty = np.empty(0, np.int64)
    names = ("whole", "attempt", "step_lo", "step_hi", "rows", "last", "time_ns")
    kinds = sealed.name_table["kind"].to_pylist() if sealed.names else []
    return FileNames(sealed, list(sealed.names), kinds, *(columns.get(name, empty) for name in names))


@dataclass(slots=True)
class Layout:
    """The names of a live log by the shape that answers for them; it changes with them alone."""

    shapes: list[tuple[Shape, Ints]]  # a shape, and its columns
    names: list[str]  # those of the shapes, then the others
    kinds: list[str]  # of the former
    size: tuple[int, int]  # of the log when it was made: shapes, and names logged one by one

    @classmethod
    def of(cls, tail: Tail) -> Layout:
        wide, long = tail.metrics.wide, tail.metrics.long
        layout = cls([], [], [], _size(tail))
        for shape in list(wide.shapes.values()):
            alone = [name not in long.codes and wide.is_alone(name, shape) for name in shape.names]
            columns = np.flatnonzero(alone)
            layout.shapes.append((shape, columns))
            layout.names += [shape.names[i] for i in columns.tolist()]
            layout.kinds += [shape.kinds[i] for i in columns.tolist()]
        layout.names += sorted(tail.metrics.names() - set(layout.names))
        return layout

    def fits(self, tail: Tail) -> bool:
        return self.size == _size(tail)


def _size(tail: Tail) -> tuple[int, int]:
    return len(tail.metrics.wide.shapes), len(tail.metrics.long.codes)


def of_tail(tail: Tail, layout: Layout) -> FileNames:
    """The names of a live log. A shape whose steps ascend answers for all its names at once."""
    parts = [_of_columns(shape, columns) for shape, columns in layout.shapes]
    rest = layout.names[len(layout.kinds) :]
    known = _of_long(tail, tail.metrics.long.codes.keys() - tail.metrics.wide.columns.keys()) if rest else {}
    facts = [known.get(name) or _of_rows(tail, name) for name in rest]
    kinds, *others = list(zip(*facts, strict=True)) or [()] * 8
    parts.append([np.array(values, kind) for values, kind in zip(others, TYPES, strict=True)])
    columns = (np.concatenate(some) for some in zip(*parts, strict=True))
    return FileNames(tail, layout.names, [*layout.kinds, *kinds], *columns)


def _of_columns(shape: Shape, columns: Ints) -> list[NDArray[Any]]:
    """The facts of some names of a shape, as columns."""
    *shared, time_ns = _of_shape(shape)
    last = shape.calls[-1].values[-1][columns]
    return [np.full(len(columns), value, kind) for value, kind in zip((*shared, last, time_ns), TYPES, strict=True)]


def _of_shape(shape: Shape) -> tuple[bool, int, int, int, int, int]:
    """The facts that all names of a shape share: all but kind and last value."""
    lo = min(int(calls.step.min()) for calls in shape.calls)
    hi = max(int(calls.step.max()) for calls in shape.calls)
    rows, time_ns = sum(map(len, shape.calls)), int(shape.calls[-1].time_ns[-1])
    return shape.rises() and not shape.scope, shape.labels.attempt, lo, hi, rows, time_ns


def _of_long(tail: Tail, names: Set[str]) -> dict[str, NameFacts]:
    """Names that were only logged one by one, all at once, since there may be a million of them.

    Names that need merging are left out.
    """
    codes, rows, _ = tail.metrics.long.everything()
    if not names:
        return {}
    order = np.argsort(codes, kind="stable")
    code, step, attempt = codes[order], rows.step[order], rows.attempt[order]
    bounds = np.searchsorted(code, np.arange(len(tail.metrics.long.codes) + 1))
    starts, ends = bounds[:-1], bounds[1:] - 1
    simple = np.ones(len(starts), bool)
    simple[code[1:][(np.diff(code) == 0) & ((np.diff(step) <= 0) | (np.diff(attempt) != 0))]] = False
    simple[code[rows.scope[order] != 0]] = False
    last = order[ends]
    words = tail.metrics.words.words
    columns = (attempt[ends], step[starts], step[ends], ends - starts + 1, rows.value[last], rows.time_ns[last])
    lists = [column.tolist() for column in (simple, rows.kind[last], *columns)]
    lines = zip(tail.metrics.long.codes, *lists, strict=True)
    return {name: NameFacts(words[kind], True, *rest) for name, fits, kind, *rest in lines if fits and name in names}


def _of_rows(tail: Tail, name: str) -> NameFacts:
    """A name that needs its rows: it is in several shapes, or repeats a step."""
    rows = tail.metrics.rows(name).unscoped()
    words = tail.metrics.words
    one = (rows.attempt == rows.attempt[0]).all() and not rows.scope.any()
    rising = bool((np.diff(rows.step) > 0).all())
    points = merge(rows, words, {}) if rising else None
    last = (float(points.value[-1]), int(points.time_ns[-1])) if points is not None else (np.nan, -1)
    kind, attempt = words.words[int(rows.kind[-1])], int(rows.attempt[-1])
    steps = int(rows.step.min()), int(rows.step.max())
    return NameFacts(kind, bool(one) and rising, attempt, *steps, len(rows), *last)
