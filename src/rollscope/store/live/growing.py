"""Numbers that grow at their end, in a handful of pieces that never change.

An array that is copied whenever it grows leaves holes of all sizes in memory. So new numbers are a
piece of their own, and pieces are joined as they grow, like the digits of a binary counter. A large
piece lies in a file (`paged`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.numbers.rows import Ints

from . import paged

STEP = "step"
Piece = dict[Hashable, NDArray[Any]]  # columns of equal length, ascending in `STEP`


class GrowingArray:
    """Numbers of one type."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._pieces: list[NDArray[Any]] = [np.empty(0, kind)]

    def append(self, numbers: NDArray[Any]) -> None:
        self._pieces.append(numbers)
        while len(self._pieces) > 1 and len(self._pieces[-2]) < 2 * len(self._pieces[-1]):
            last, before = self._pieces.pop(), self._pieces.pop()
            self._pieces += paged.arrays([np.concatenate([before, last])])

    def whole(self) -> NDArray[Any]:
        return self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)


class StepColumns:
    """Columns of numbers by step, each step once. The steps of a piece lie before the next one's.

    A column that some steps have not is NaN there, or False.
    """

    def __init__(self) -> None:
        self._pieces: list[Piece] = []

    def names(self) -> list[Hashable]:
        """All columns, in the order in which they came."""
        return list(dict.fromkeys(name for piece in self._pieces for name in piece))

    def steps(self) -> Ints:
        return self.column(STEP) if self._pieces else np.empty(0, np.int64)

    def column(self, name: Hashable) -> NDArray[Any]:
        """A column over all steps; some step must have it."""
        return _column(self._pieces, name)

    def put(self, piece: Piece) -> None:
        """Take steps, ascending, in place of what is here of them."""
        if not len(piece[STEP]):
            return
        self.drop(piece[STEP])
        first, last = piece[STEP][0], piece[STEP][-1]
        before = [one for one in self._pieces if one[STEP][-1] < first]
        after = [one for one in self._pieces if one[STEP][0] > last]
        amid = self._pieces[len(before) : len(self._pieces) - len(after)]
        self._pieces = _tidy([*before, _joined([*amid, piece]) if amid else piece, *after])

    def drop(self, steps: Ints) -> None:
        """Forget steps that are here or not, in ascending order."""
        if len(steps):
            self._pieces = [rest for piece in self._pieces for rest in _without(piece, steps)]


def _column(pieces: Sequence[Piece], name: Hashable) -> NDArray[Any]:
    kind = next(piece[name].dtype for piece in pieces if name in piece)
    nothing = False if kind == np.bool_ else np.nan
    parts = [piece[name] if name in piece else np.full(len(piece[STEP]), nothing) for piece in pieces]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _joined(pieces: Sequence[Piece]) -> Piece:
    names = list(dict.fromkeys(name for piece in pieces for name in piece))
    columns = [_column(pieces, name) for name in names]
    step = columns[names.index(STEP)]
    if (step[1:] < step[:-1]).any():
        order = np.argsort(step, kind="stable")
        columns = [column[order] for column in columns]
    return dict(zip(names, paged.arrays(columns), strict=True))


def _tidy(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, each at least twice as long as the next."""
    kept: list[Piece] = []
    for piece in pieces:
        kept.append(piece)
        while len(kept) > 1 and len(kept[-2][STEP]) < 2 * len(kept[-1][STEP]):
            last, before = kept.pop(), kept.pop()
            kept.append(_joined([before, last]))
    return kept


def _without(piece: Piece, steps: Ints) -> list[Piece]:
    """The piece up to the first of the steps, which is not copied, and what is left after it."""
    own = piece[STEP]
    near = steps[np.searchsorted(steps, own[0]) : np.searchsorted(steps, own[-1], "right")]
    gone = np.searchsorted(own, near)
    gone = gone[own[gone] == near]
    if not len(gone):
        return [piece]
    rest = np.delete(np.arange(gone[0], len(own)), gone - gone[0])
    parts = [{name: column[: gone[0]] for name, column in piece.items()}]
    if len(rest):
        kept = paged.arrays([column[rest] for column in piece.values()])
        parts.append(dict(zip(piece, kept, strict=True)))
    return [part for part in parts if len(part[STEP])]
