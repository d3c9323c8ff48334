"""Where each name of a run lies, and what its files know about it, so most questions need no rows.

A name is *simple* if its files follow each other: each has complete points (one attempt, one scope,
already merged), no two share a step, no later attempt took over, and it is not a running total.
Then its last value is the last file's, and its buckets are the files' buckets end to end.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Shape
from rollscope.store.numbers import counters
from rollscope.store.numbers.merge import merge
from rollscope.store.numbers.rows import Floats, Ints
from rollscope.store.sealed.reader import SealedSet


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


def of_tail(tail: Tail) -> FileNames:
    """The names of a live log. A shape whose steps ascend answers for all its names at once."""
    wide, long = tail.metrics.wide, tail.metrics.long
    facts: dict[str, NameFacts] = {}
    for shape in wide.shapes.values():
        complete, attempt, lo, hi, rows, time_ns = _of_shape(shape)
        last = shape.calls[-1].values[-1].tolist()
        for column, name in enumerate(shape.names):
            if name not in long.codes and len(own := wide.unscoped(name)) == 1 and own[0][0] is shape:
                kind = shape.kinds[column]
                facts[name] = NameFacts(kind, complete, attempt, lo, hi, rows, last[column], time_ns)
    facts |= _of_long(tail, long.codes.keys() - wide.columns.keys())
    for name in tail.metrics.names() - facts.keys():
        facts[name] = _of_rows(tail, name)
    return _as_columns(tail, facts)


def _as_columns(tail: Tail, facts: dict[str, NameFacts]) -> FileNames:
    kind, complete, attempt, lo, hi, rows, last, time_ns = list(zip(*facts.values(), strict=True)) or [()] * 8
    return FileNames(
        tail,
        list(facts),
        list(kind),
        np.array(complete, bool),
        np.array(attempt, np.int64),
        np.array(lo, np.int64),
        np.array(hi, np.int64),
        np.array(rows, np.int64),
        np.array(last, np.float64),
        np.array(time_ns, np.int64),
    )


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


@dataclass(slots=True)
class Location:
    """The files that have a name, in order of their steps, and its row in the names of each."""

    parts: list[tuple[FileNames, int]]
    simple: bool

    @property
    def rows(self) -> int:
        return sum(int(part.rows[i]) for part, i in self.parts)


def locate(files: list[FileNames], resumed: Mapping[int, int]) -> dict[str, Location]:
    """Find every name in the files of a run."""
    parts: dict[str, list[tuple[FileNames, int]]] = {}
    for file in files:
        for i, name in enumerate(file.names):
            parts.setdefault(name, []).append((file, i))
    complete = {id(file): (file.complete & _is_current(file, resumed)).tolist() for file in files}
    return {name: _location(where, complete) for name, where in parts.items()}


def _is_current(file: FileNames, resumed: Mapping[int, int]) -> NDArray[np.bool_]:
    """Names of which no later attempt took over a step."""
    keep = np.ones(len(file.names), bool)
    for newer, first in resumed.items():
        keep &= (file.attempt >= newer) | (file.hi < first)
    return keep


def _location(parts: list[tuple[FileNames, int]], complete: dict[int, list[bool]]) -> Location:
    simple = all(complete[id(file)][i] and file.kind[i] != counters.KIND for file, i in parts)
    if len(parts) > 1:
        parts.sort(key=lambda part: part[0].lo[part[1]])
        simple = simple and all(a[0].hi[a[1]] < b[0].lo[b[1]] for a, b in pairwise(parts))
    return Location(parts, simple)
