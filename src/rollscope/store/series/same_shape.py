"""Names that many processes log alike, merged all at once: a run of 64 ranks that is not sealed yet.

Names that lie in the same calls of the same logs share their steps, so which rows belong together is found once for all of them. What needs
more care than that (a writer that repeats a step, several attempts or environments, partials of varying length) is left to `merge.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.live.wide import Calls, Shape
from rollscope.store.numbers.merge import PLAIN, Points
from rollscope.store.numbers.partial_sums import VECTOR
from rollscope.store.numbers.rows import Floats, Ints, stretch_starts

AT_ONCE = 400_000  # values
ONE_BY_ONE = {"counter"}  # what a step counts goes on from the step before


@dataclass(slots=True)
class Alike:
    """Names with the same kind in the same shapes, each shape of a log of its own."""

    kind: str
    shapes: list[Shape]
    names: list[str]
    columns: list[list[int]]  # of each name, its column in each shape

    def points(self, since: int | None = None) -> Iterator[tuple[list[str], Points]]:
        """Some names at a time, and their points: steps by names. With `since`, of that step and later ones."""
        pieces = [(i, piece) for i, shape in enumerate(self.shapes) for piece in shape.calls]
        kept = [
            np.flatnonzero(piece.step >= since) if since is not None else np.arange(len(piece)) for _, piece in pieces
        ]
        steps = np.concatenate([piece.step[keep] for (_, piece), keep in zip(pieces, kept, strict=True)])
        order = np.argsort(steps, kind="stable")
        steps, starts = steps[order], stretch_starts(steps[order])
        times = np.concatenate([piece.time_ns[keep] for (_, piece), keep in zip(pieces, kept, strict=True)])[order]
        time_ns = np.maximum.reduceat(times, starts) if len(starts) else times
        width = 1 if self.kind not in PLAIN else max(1, AT_ONCE // max(len(steps), 1))
        for at in range(0, len(self.names), width):
            columns = np.array(self.columns[at : at + width])
            found = _plain if self.kind in PLAIN else _added(self.kind)
            yield (
                self.names[at : at + width],
                found(
                    steps,
                    time_ns,
                    starts,
                    order,
                    [(p, columns[:, i], k) for (i, p), k in zip(pieces, kept, strict=True)],
                ),
            )


Taken = Sequence[tuple[Calls, Ints, Ints]]  # pieces, the columns of the names in each, and the rows


def _plain(steps: Ints, time_ns: Ints, starts: Ints, order: Ints, taken: Taken) -> Points:
    """Plain numbers average over writers, and keep the lowest and the highest."""
    x = np.concatenate([piece.values[rows][:, columns] for piece, columns, rows in taken])[order]
    many = np.diff([*starts, len(x)])[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is a NaN that was logged
        mean = np.where(many > 1, np.add.reduceat(x, starts, axis=0) / many, x[starts])
    return Points(
        steps[starts],
        time_ns,
        mean,
        np.full(mean.shape, np.nan),
        np.fmin.reduceat(x, starts, axis=0),
        np.fmax.reduceat(x, starts, axis=0),
    )


class _added:
    """Partials of a kind add; where a step has one, it stays as it was written."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, steps: Ints, time_ns: Ints, starts: Ints, order: Ints, taken: Taken) -> Points:
        state = np.concatenate([_states(piece, int(columns[0]))[rows] for piece, columns, rows in taken])[order]
        value, weight = (
            np.concatenate([_of(piece, name)[rows, columns[0]] for piece, columns, rows in taken])[order]
            for name in ("values", "weights")
        )
        added, weights = VECTOR[self.kind](state, starts)
        many = np.diff([*starts, len(value)]) > 1
        found = np.where(many, added, value[starts])[:, None]
        return Points(steps[starts], time_ns, found, np.where(many, weights, weight[starts])[:, None], found, found)


def _of(piece: Calls, name: str) -> Floats:
    found: Floats = getattr(piece, name)
    return found


def _states(piece: Calls, column: int) -> Floats:
    """The states of a column that has as many in every row, rows by states."""
    assert piece.lengths is not None and piece.states is not None
    ends = np.cumsum(piece.lengths[0].astype(np.int64))
    rows = piece.states.reshape(len(piece), -1)
    return rows[:, ends[column] - piece.lengths[0, column] : ends[column]]


def groups(folder: Folder, names: Sequence[str]) -> list[Alike]:
    """Names that can be merged together; those that are in none need `merge.py`."""
    if folder.resumed:
        return []
    found: dict[tuple[object, ...], Alike] = {}
    fits: dict[int, bool] = {}
    places = folder.locations()
    for name in names:
        where = [_where(part.file, name) for part, _ in places[name].parts if isinstance(part.file, Tail)]
        shapes = [at[0] for at in where if at is not None]
        if (
            len(shapes) < len(places[name].parts)
            or len({(at[0].kinds[at[1]], at[0].labels.attempt) for at in where if at is not None}) > 1
        ):
            continue
        for shape in shapes:
            if id(shape) not in fits:
                fits[id(shape)] = _fits(shape)
        if all(fits[id(shape)] for shape in shapes):
            columns = [at[1] for at in where if at is not None]
            kind = shapes[0].kinds[columns[0]]
            group = found.setdefault((kind, *map(id, shapes)), Alike(kind, shapes, [], []))
            group.names.append(name)
            group.columns.append(columns)
    return [group for group in found.values() if group.kind in PLAIN or group.kind in VECTOR.keys() - ONE_BY_ONE]


def _where(tail: Tail, name: str) -> tuple[Shape, int] | None:
    own = tail.metrics.wide.unscoped(name)
    return own[0] if len(own) == 1 and name not in tail.metrics.long.codes else None


def _fits(shape: Shape) -> bool:
    """Steps that rise, of the whole, with as many states in every row."""
    rising = all((np.diff(piece.step) > 0).all() for piece in shape.calls) and all(
        a.step[-1] < b.step[0] for a, b in pairwise(shape.calls)
    )
    alike = all(piece.lengths is None or (piece.lengths == piece.lengths[0]).all() for piece in shape.calls)
    return rising and alike and not shape.scope
