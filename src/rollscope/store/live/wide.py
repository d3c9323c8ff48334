"""Wide metric blocks of a log: one row per call over a list of names.

A series is a strided read of a matrix. Calls with the same names are joined as they grow, like the
digits of a binary counter, so a log of any length stays a handful of matrices and a live chart
never copies the whole past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.block import Labels, Metrics
from rollscope.store.numbers.rows import Codes, Floats, Ints, NamedRows, Rows, States, Words

from . import paged, scope
from .shared import Shared

FEWEST = 64  # calls that are worth sharing with other readers of the log


@dataclass(slots=True, weakref_slot=True)
class Calls:
    """R calls over the N names of a shape. Plain numbers have no weights and states."""

    order: Ints  # [R] position in the log
    step: Ints
    time_ns: Ints
    values: Floats  # [R, N]
    weights: Floats | None
    lengths: NDArray[np.uint32] | None
    states: Floats | None
    ends: Ints | None = None  # of the states, computed when first needed

    def __len__(self) -> int:
        return len(self.step)


@dataclass(slots=True)
class Shape:
    """A list of names, with their kinds and labels, and all calls that share it."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: Labels
    calls: list[Calls] = field(default_factory=list)
    scope: str = field(init=False)

    def __post_init__(self) -> None:
        self.scope = scope.word(self.labels.env, self.labels.split, self.labels.clock)

    def append(self, calls: Calls, shared: Shared) -> None:
        self.calls.append(calls)
        while len(self.calls) > 1 and len(self.calls[-2]) < 2 * len(self.calls[-1]):
            last, before = self.calls.pop(), self.calls.pop()
            self.calls.append(_join(before, last, shared))

    def rises(self) -> bool:
        """True if the steps of all calls ascend, each step once."""
        inside = all((np.diff(calls.step) > 0).all() for calls in self.calls)
        return inside and all(a.step[-1] < b.step[0] for a, b in pairwise(self.calls))


def _copied(column: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
    """A copy, since a view would keep every byte that was scanned with it, texts too."""
    return None if column is None else np.array(column)


def _join(a: Calls, b: Calls, shared: Shared) -> Calls:
    size = len(a) + len(b)
    if size < FEWEST:
        return _joined(a, b)
    return shared.get("calls", int(a.order[0]), int(b.order[-1]), size, lambda: _joined(a, b))


def _joined(a: Calls, b: Calls) -> Calls:
    names = ("order", "step", "time_ns", "values", "weights", "lengths", "states")
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in names}
    joined = {name: np.concatenate(pair) for name, pair in pairs.items() if pair[0] is not None and pair[1] is not None}
    kept = dict(zip(joined, paged.arrays(list(joined.values())), strict=True))
    return Calls(*(kept.get(name) for name in names))  # type: ignore[arg-type]


class WideMetrics:
    def __init__(self, writer: str, seq: int, words: Words, shared: Shared) -> None:
        self.writer, self.seq, self.words, self._shared = writer, seq, words, shared
        self.columns: dict[str, list[tuple[Shape, int]]] = {}  # name -> its shapes, and its column in each
        self.shapes: dict[tuple[object, ...], Shape] = {}

    def add(self, block: Metrics) -> None:
        key = (tuple(block.names), tuple(block.kinds), block.labels, block.weights is not None)
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = Shape(tuple(block.names), tuple(block.kinds), block.labels)
            for column, name in enumerate(block.names):
                self.columns.setdefault(name, []).append((shape, column))
        order = (np.int64(block.number) << 32) + np.arange(len(block.step))
        columns = (block.step, block.time_ns, block.values, block.weights, block.lengths, block.states)
        shape.append(Calls(order, *map(_copied, columns)), self._shared)  # type: ignore[arg-type]

    def unscoped(self, name: str) -> list[tuple[Shape, int]]:
        """The shapes of a name without those of single environments, if others remain."""
        columns = self.columns.get(name, [])
        if len(columns) < 2:
            return columns
        return [(shape, column) for shape, column in columns if not shape.scope] or columns

    def is_alone(self, name: str, shape: Shape) -> bool:
        """True if a name is in this shape alone, as far as the run as a whole is concerned."""
        own = self.unscoped(name)
        return len(own) == 1 and own[0][0] is shape

    def count(self, name: str) -> int:
        return sum(len(calls) for shape, _ in self.columns.get(name, ()) for calls in shape.calls)

    def rows(self, name: str, since: int | None = None) -> list[tuple[Ints, Rows]]:
        """Positions in the log, and rows. With `since`, rows of that step and later ones."""
        parts = []
        for shape, column in self.columns.get(name, ()):
            for calls in shape.calls if since is None else [_since(calls, since) for calls in shape.calls]:
                if len(calls):
                    parts.append((calls.order, self._rows(shape, calls, [column])))
        return parts

    def some(self, names: Sequence[str]) -> NamedRows:
        """The rows of many names, name by name: a matrix at a time, not a column."""
        codes = {name: code for code, name in enumerate(names)}
        parts: list[tuple[Codes, Ints, Rows]] = []
        for shape in self.shapes.values():
            columns = [column for column, name in enumerate(shape.names) if name in codes]
            for calls in shape.calls if columns else ():
                code = np.array([codes[shape.names[column]] for column in columns], np.int32)
                order = np.tile(calls.order, len(columns))
                parts.append((np.repeat(code, len(calls)), order, self._rows(shape, calls, columns)))
        code = np.concatenate([np.empty(0, np.int32), *(code for code, _, _ in parts)])
        order = np.concatenate([np.empty(0, np.int64), *(order for _, order, _ in parts)])
        by = np.lexsort((order, code))
        return NamedRows(list(names), code[by], Rows.join([rows for _, _, rows in parts]).take(by))

    def _rows(self, shape: Shape, calls: Calls, columns: Sequence[int]) -> Rows:
        """The rows of some columns, one after the other."""
        n, label = len(calls) * len(columns), shape.labels
        kinds = self.words.codes([shape.kinds[column] for column in columns])
        return Rows(
            step=np.tile(calls.step, len(columns)),
            time_ns=np.tile(calls.time_ns, len(columns)),
            value=calls.values[:, columns].T.ravel(),
            weight=np.full(n, np.nan) if calls.weights is None else calls.weights[:, columns].T.ravel(),
            kind=np.repeat(kinds, len(calls)),
            writer=np.full(n, self.words.code(self.writer), np.int32),
            seq=np.full(n, self.seq),
            rank=np.full(n, label.rank),
            attempt=np.full(n, label.attempt),
            scope=np.full(n, self.words.code(shape.scope), np.int32),
            state=_states(calls, columns),
        )


def _since(calls: Calls, step: int) -> Calls:
    """The calls of a step and later ones. Calls with states are returned unchanged."""
    if calls.states is not None:
        return calls
    keep = np.flatnonzero(calls.step >= step)
    weights = None if calls.weights is None else calls.weights[keep]
    return Calls(calls.order[keep], calls.step[keep], calls.time_ns[keep], calls.values[keep], weights, None, None)


def _states(calls: Calls, columns: Sequence[int]) -> States:
    if calls.lengths is None or calls.states is None:
        return States.none(len(calls) * len(columns))
    if calls.ends is None:
        calls.ends = np.cumsum(calls.lengths.astype(np.int64).ravel())
    width = calls.lengths.shape[1]
    index = np.arange(len(calls)) * width + np.array(columns, np.int64)[:, None]
    return States(calls.states, calls.ends).take(index.ravel())
