"""Metric blocks of a log that hold one row per call over a list of names: a series is a strided read of a matrix.

Pieces of one shape are joined as they grow (like the digits of a binary counter), so that a log of any length stays a
handful of matrices and a live chart never copies the whole past.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.block import Labels, Metrics
from rollscope.store.numbers.rows import Floats, Ints, Rows, States, Words


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

    @property
    def place(self) -> str:
        return place(self.labels.env, self.labels.split, self.labels.clock)

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
    def __init__(self, writer: str, seq: int, words: Words) -> None:
        self.writer, self.seq, self.words = writer, seq, words
        self.where: dict[str, list[tuple[Shape, int]]] = {}  # name -> the shapes it is in, and its column there
        self.shapes: dict[tuple[object, ...], Shape] = {}

    def add(self, block: Metrics) -> None:
        key = (tuple(block.names), tuple(block.kinds), block.labels, block.weights is not None)
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = Shape(tuple(block.names), tuple(block.kinds), block.labels)
            for column, name in enumerate(block.names):
                self.where.setdefault(name, []).append((shape, column))
        order = (np.int64(block.number) << 32) + np.arange(len(block.step))
        shape.append(Piece(order, block.step, block.time_ns, block.values, block.weights, block.lengths, block.states))

    def own(self, name: str) -> list[tuple[Shape, int]]:
        """The shapes that speak of the whole, not of one environment, where there are such."""
        where = self.where.get(name, [])
        whole = [(shape, column) for shape, column in where if not shape.place]
        return whole or where

    def count(self, name: str) -> int:
        return sum(len(piece) for shape, _ in self.where.get(name, ()) for piece in shape.pieces)

    def rows(self, name: str, since: int | None = None) -> list[tuple[Ints, Rows]]:
        """Places in the log and rows, piece by piece; with `since`, of that step and later ones."""
        found = []
        for shape, column in self.where.get(name, ()):
            for piece in shape.pieces if since is None else [_since(piece, since) for piece in shape.pieces]:
                if len(piece):
                    found.append((piece.order, self.of(shape, piece, column)))
        return found

    def of(self, shape: Shape, piece: Piece, column: int) -> Rows:
        n, label = len(piece), shape.labels
        return Rows(
            step=piece.step,
            time_ns=piece.time_ns,
            value=np.ascontiguousarray(piece.values[:, column]),
            weight=np.full(n, np.nan) if piece.weights is None else piece.weights[:, column],
            kind=np.full(n, self.words.code(shape.kinds[column]), np.int32),
            writer=np.full(n, self.words.code(self.writer), np.int32),
            seq=np.full(n, self.seq),
            rank=np.full(n, label.rank),
            attempt=np.full(n, label.attempt),
            scope=np.full(n, self.words.code(shape.place), np.int32),
            state=_states(piece, column),
        )


def _since(piece: Piece, step: int) -> Piece:
    """The rows of a step and later ones. A piece with states stays whole: they are found by counting."""
    if piece.states is not None:
        return piece
    keep = np.flatnonzero(piece.step >= step)
    weights = None if piece.weights is None else piece.weights[keep]
    return Piece(piece.order[keep], piece.step[keep], piece.time_ns[keep], piece.values[keep], weights, None, None)


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


def placed(word: str) -> tuple[str, str, str]:
    """Environment, split and clock of such a word."""
    env, split, clock = (*word.split("\x1f"), "", "")[:3]
    return env, split or "train", clock
