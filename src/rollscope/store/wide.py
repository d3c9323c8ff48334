"""Metrics of an unsealed log as they were written: matrices of calls by names, from which one series is a strided read.

Pieces of one shape are joined as they grow (like the digits of a binary counter), so that a log of any length stays a
handful of matrices and a live chart never copies the whole past.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .block import Labels, Metrics
from .rows import Floats, Ints, Rows, States, Words


@dataclass(slots=True)
class Piece:
    """R calls over the N names of a shape; partials only where the shape has them."""

    order: Ints  # [R] where in the log
    step: Ints
    time_ns: Ints
    values: Floats  # [R, N]
    weights: Floats | None
    lengths: NDArray[np.uint32] | None
    states: Floats | None
    ends: Ints | None = None  # of the states, made when first asked for

    def __len__(self) -> int:
        return len(self.step)


@dataclass(slots=True)
class Shape:
    """What a list of calls has in common."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: Labels
    pieces: list[Piece] = field(default_factory=list)

    def append(self, piece: Piece) -> None:
        self.pieces.append(piece)
        while len(self.pieces) > 1 and len(self.pieces[-2]) < 2 * len(self.pieces[-1]):
            last, before = self.pieces.pop(), self.pieces.pop()
            self.pieces.append(_join(before, last))


def _join(a: Piece, b: Piece) -> Piece:
    def both(x: NDArray[np.generic] | None, y: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        return None if x is None or y is None else np.concatenate([x, y])

    names = ("order", "step", "time_ns", "values", "weights", "lengths", "states")
    return Piece(*(both(getattr(a, name), getattr(b, name)) for name in names))  # type: ignore[arg-type]


class WideMetrics:
    """All metrics blocks of one log."""

    def __init__(self, writer: str, seq: int, words: Words) -> None:
        self.writer, self.seq, self.words = writer, seq, words
        self.where: dict[str, list[tuple[Shape, int]]] = {}  # name -> the shapes it is in, and its column there
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self.first: dict[int, int] = {}  # attempt -> its lowest step
        self.last_step = -1
        self.times = (2**63 - 1, 0)  # first and last

    def add(self, block: Metrics) -> None:
        if not len(block.step):
            return
        if block.index is None:
            self._add(block, tuple(block.names), tuple(block.kinds), np.arange(len(block.step)), None)
        else:
            order = np.argsort(block.index, kind="stable")
            bounds = np.searchsorted(block.index[order], np.arange(len(block.names) + 1))
            for i, name in enumerate(block.names):
                self._add(block, (name,), (block.kinds[i],), order[bounds[i] : bounds[i + 1]], i)
        lowest = int(block.step.min())
        attempt = block.labels.attempt
        self.first[attempt] = min(lowest, self.first.get(attempt, lowest))
        self.last_step = max(self.last_step, int(block.step.max()))
        self.times = (min(self.times[0], int(block.time_ns.min())), max(self.times[1], int(block.time_ns.max())))

    def _add(self, block: Metrics, names: tuple[str, ...], kinds: tuple[str, ...], rows: Ints, long: int | None) -> None:
        if not len(rows):
            return
        shape = self._shape(names, kinds, block.labels, block.weights is not None)
        states = block.states
        if long is not None:
            block_values, weights, lengths = block.values[rows, None], None, None
            if block.weights is not None and block.lengths is not None and block.states is not None:
                weights, lengths = block.weights[rows, None], block.lengths[rows, None]
                states = States(block.states, np.cumsum(block.lengths.astype(np.int64))).take(rows).flat
        else:
            block_values, weights, lengths = block.values, block.weights, block.lengths
        order = (np.int64(block.number) << 32) + rows
        shape.append(Piece(order, block.step[rows], block.time_ns[rows], block_values, weights, lengths, states))

    def _shape(self, names: tuple[str, ...], kinds: tuple[str, ...], labels: Labels, partials: bool) -> Shape:
        key = (names, kinds, labels, partials)
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = Shape(names, kinds, labels)
            for column, name in enumerate(names):
                self.where.setdefault(name, []).append((found, column))
        return found

    def rows(self, name: str) -> Rows:
        """What was logged under a name, in the order it was logged."""
        found = [self._rows(shape, piece, column) for shape, column in self.where.get(name, ()) for piece in shape.pieces]
        if len(found) == 1:
            return found[0][1]
        joined = Rows.join([rows for _, rows in found])
        order = np.concatenate([order for order, _ in found]) if found else np.empty(0, np.int64)
        return joined if (np.diff(order) > 0).all() else joined.take(np.argsort(order, kind="stable"))

    def _rows(self, shape: Shape, piece: Piece, column: int) -> tuple[Ints, Rows]:
        n, label = len(piece), shape.labels
        weight = np.full(n, np.nan) if piece.weights is None else piece.weights[:, column]
        kind, writer = self.words.code(shape.kinds[column]), self.words.code(self.writer)
        where = self.words.code(place(label.env, label.split, label.clock))
        same = (np.full(n, kind, np.int32), np.full(n, writer, np.int32), np.full(n, self.seq), np.full(n, label.rank), np.full(n, label.attempt))
        value = np.ascontiguousarray(piece.values[:, column])
        return piece.order, Rows(piece.step, piece.time_ns, value, weight, *same, np.full(n, where, np.int32), _states(piece, column))


def _states(piece: Piece, column: int) -> States:
    if piece.lengths is None or piece.states is None:
        return States.none(len(piece))
    if piece.ends is None:
        piece.ends = np.cumsum(piece.lengths.astype(np.int64).ravel())
    width = piece.lengths.shape[1]
    return States(piece.states, piece.ends).take(np.arange(len(piece)) * width + column)


def place(env: str | None, split: str | None, clock: str | None) -> str:
    """Environment, split and clock as one word; the usual ones are the empty word."""
    parts = (env or "", "" if split in (None, "train") else split, clock or "")
    return "\x1f".join(parts) if any(parts) else ""
