"""What each file of a run knows about each name, so that most questions need no rows.

A name is *simple* when its files follow each other: every one whole in itself (one attempt, one environment, already merged), no two sharing a step,
nothing taken over by a later attempt, and no total that goes on over all of them. Then its last value is the last file's, and its buckets are the files' buckets put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Shape
from rollscope.store.numbers import counters
from rollscope.store.numbers.merge import merge
from rollscope.store.numbers.rows import Floats, Ints
from rollscope.store.sealed.reader import Sealed


@dataclass(slots=True)
class Part:
    """The names of one file, as columns."""

    piece: Sealed | Tail
    names: list[str]
    kind: list[str]
    whole: NDArray[np.bool_]
    attempt: Ints
    lo: Ints  # steps
    hi: Ints
    rows: Ints
    last: Floats
    time_ns: Ints


def of_set(piece: Sealed) -> Part:
    c = piece.columns if piece.names else {}
    empty = np.empty(0, np.int64)
    columns = [c.get(name, empty) for name in ("whole", "attempt", "step_lo", "step_hi", "rows", "last", "time_ns")]
    return Part(piece, list(piece.names), piece.about["kind"].to_pylist() if piece.names else [], *columns)


def of_tail(tail: Tail) -> Part:
    """Of a live log: a shape whose steps ascend speaks for all its names at once."""
    wide, long = tail.metrics.wide, tail.metrics.long
    found: dict[str, tuple[Any, ...]] = {}
    for shape in wide.shapes.values():
        about = _shape(shape)
        last = shape.pieces[-1].values[-1].tolist()
        for column, name in enumerate(shape.names):
            if name not in long.codes and len(own := wide.own(name)) == 1 and own[0][0] is shape:
                found[name] = (shape.kinds[column], *about[:5], last[column], about[5])
    found |= _long(tail, long.codes.keys() - wide.where.keys())
    for name in tail.metrics.names() - found.keys():
        found[name] = _merged(tail, name)
    columns = list(zip(*found.values(), strict=True)) or [()] * 8
    kind, whole, attempt, lo, hi, rows, last_values, time_ns = columns
    return Part(
        tail,
        list(found),
        list(kind),
        np.array(whole, bool),
        np.array(attempt, np.int64),
        np.array(lo, np.int64),
        np.array(hi, np.int64),
        np.array(rows, np.int64),
        np.array(last_values, np.float64),
        np.array(time_ns, np.int64),
    )


def _shape(shape: Shape) -> tuple[bool, int, int, int, int, int]:
    """Whole, attempt, first and last step, rows, last time."""
    pieces = shape.pieces
    rising = all((np.diff(piece.step) > 0).all() for piece in pieces) and all(
        a.step[-1] < b.step[0] for a, b in pairwise(pieces)
    )
    lo, hi = min(int(p.step.min()) for p in pieces), max(int(p.step.max()) for p in pieces)
    return rising and not shape.place, shape.labels.attempt, lo, hi, sum(map(len, pieces)), int(pieces[-1].time_ns[-1])


def _long(tail: Tail, names: Set[str]) -> dict[str, tuple[Any, ...]]:
    """Names that only ever came one by one, all at once: there may be a million of them. Those that need merging are left out."""
    codes, rows, _ = tail.metrics.long.everything()
    if not names:
        return {}
    order = np.argsort(codes, kind="stable")
    code, step, attempt = codes[order], rows.step[order], rows.attempt[order]
    bounds = np.searchsorted(code, np.arange(len(tail.metrics.long.codes) + 1))
    starts, ends = bounds[:-1], bounds[1:] - 1
    fits = np.ones(len(starts), bool)
    fits[code[1:][(np.diff(code) == 0) & ((np.diff(step) <= 0) | (np.diff(attempt) != 0))]] = False
    fits[code[rows.scope[order] != 0]] = False
    last = order[ends]
    words = tail.metrics.words.words
    columns = (attempt[ends], step[starts], step[ends], ends - starts + 1, rows.value[last], rows.time_ns[last])
    about = zip(
        tail.metrics.long.codes,
        fits.tolist(),
        rows.kind[last].tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    )
    return {name: (words[kind], True, *rest) for name, fit, kind, *rest in about if fit and name in names}


def _merged(tail: Tail, name: str) -> tuple[Any, ...]:
    rows = tail.metrics.rows(name).unscoped()
    words = tail.metrics.words
    one = (rows.attempt == rows.attempt[0]).all() and not rows.scope.any()
    rising = bool((np.diff(rows.step) > 0).all())
    points = merge(rows, words, {}) if rising else None
    last = (float(points.value[-1]), int(points.time_ns[-1])) if points is not None else (np.nan, -1)
    return (
        words.words[int(rows.kind[-1])],
        bool(one) and rising,
        int(rows.attempt[-1]),
        int(rows.step.min()),
        int(rows.step.max()),
        len(rows),
        *last,
    )


@dataclass(slots=True)
class Place:
    """Where a name is: its files in the order of their steps, and whether they can be put together as they are."""

    parts: list[tuple[Part, int]]
    simple: bool


def places(parts: list[Part], resumed: Mapping[int, int]) -> dict[str, Place]:
    found: dict[str, list[tuple[Part, int]]] = {}
    for part in parts:
        for i, name in enumerate(part.names):
            found.setdefault(name, []).append((part, i))
    cuts = {id(part): (part.whole & _alive(part, resumed)).tolist() for part in parts}
    return {name: _place(where, cuts) for name, where in found.items()}


def _alive(part: Part, resumed: Mapping[int, int]) -> NDArray[np.bool_]:
    keep = np.ones(len(part.names), bool)
    for newer, first in resumed.items():
        keep &= (part.attempt >= newer) | (part.hi < first)
    return keep


def _place(where: list[tuple[Part, int]], cuts: dict[int, list[bool]]) -> Place:
    simple = all(cuts[id(part)][i] and part.kind[i] != counters.KIND for part, i in where)
    if len(where) > 1:
        where.sort(key=lambda at: at[0].lo[at[1]])
        simple = simple and all(a[0].hi[a[1]] < b[0].lo[b[1]] for a, b in pairwise(where))
    return Place(where, simple)
