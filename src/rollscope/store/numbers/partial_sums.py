"""Adding partials by their stored numbers, many steps at once.

Kinds with a fixed number of floats are added here, column by column; a test holds each of them to the partial's own `+`. Kinds
of any length (histograms, groups) are added one step at a time by a `PartialOf` that whoever opens the store brings along:
the store knows columns, not metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput

from .rows import Floats, Ints, States

Matrix = NDArray[np.float64]


class PartialOf(Protocol):
    """Makes a partial (`+`, `.value`, `.weight`) of the kind and the numbers in a row; None for a kind it does not know."""

    def __call__(self, kind: str, state: Sequence[float]) -> Any | None: ...


def nothing_more(kind: str, state: Sequence[float]) -> None:
    return None


def add(kind: str, state: States, starts: Ints, partials: PartialOf) -> tuple[Floats, Floats]:
    """Values and weights of the runs of rows that begin at `starts`, each run one sum of partials."""
    lengths = state.lengths()
    vector = VECTOR.get(kind)
    if vector is not None and len(lengths) and (lengths == lengths[0]).all():
        return vector(state.flat.reshape(len(lengths), -1), starts)
    bounds = [*starts.tolist(), len(state.ends)]
    sums = [_sum_of(kind, [state.of(i).tolist() for i in range(lo, hi)], partials) for lo, hi in pairwise(bounds)]
    return np.array([s.value for s in sums], np.float64), np.array([s.weight for s in sums], np.float64)


def _sum_of(kind: str, states: list[list[float]], partials: PartialOf) -> Any:
    parts: list[Any] = [partials(kind, state) for state in states]
    if None in parts:
        raise BadInput(
            f"{len(parts)} rows of kind {kind!r} belong to one step, and this reader cannot add that kind. Open the run with rollscope.open, of a version that knows it."
        )
    return fold(lambda a, b: a + b, parts)


def _quotient(num: Floats, den: Floats) -> Floats:
    out: Floats = np.full(len(num), np.nan)
    return np.divide(num, den, out=out, where=den != 0)


def _ratio(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
    sums = np.add.reduceat(x, starts, axis=0)
    return _quotient(sums[:, 0], sums[:, 1]), sums[:, 1]


def _sum(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
    sums = np.add.reduceat(x, starts, axis=0)
    return np.where(sums[:, 1] != 0, sums[:, 0], np.nan), sums[:, 1]


def _counter(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
    added = np.add.reduceat(x[:, 1], starts)
    return np.maximum.reduceat(x[:, 0], starts) + added, added


@np.errstate(
    over="ignore", invalid="ignore"
)  # an infinity among the means: then M2 is NaN, as a partial's own `+` says
def _pooled(x: Matrix, starts: Ints) -> tuple[Floats, Floats, Floats]:
    """(count, mean, M2) of each run: deviations are taken from the run's own mean, so large means lose no digits."""
    some = x[:, 0] > 0
    count, mean, m2 = np.where(some, x.T, 0.0)
    n = np.add.reduceat(count, starts)
    first = np.maximum.reduceat(np.where(some, mean, -np.inf), starts)  # a value of the run to measure from
    first = np.where(np.isfinite(first), first, 0.0)
    runs = np.repeat(np.arange(len(starts)), np.diff([*starts, len(x)]))
    shift = np.where(some, mean - first[runs], 0.0)
    centre = _quotient(np.add.reduceat(count * shift, starts), n)
    away = np.where(some, shift - np.nan_to_num(centre)[runs], 0.0)
    return n, first + centre, np.add.reduceat(m2 + count * away * away, starts)


def _moments(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
    n, mean, _ = _pooled(x, starts)
    return mean, n


def _std(ddof: int) -> Callable[[Matrix, Ints], tuple[Floats, Floats]]:
    def std(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
        n, _, m2 = _pooled(x, starts)
        return np.sqrt(np.divide(m2, n - ddof, out=np.full(len(n), np.nan), where=n > ddof)), n

    return std


def _extreme(column: int, find: np.ufunc) -> Callable[[Matrix, Ints], tuple[Floats, Floats]]:
    def extreme(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
        count = np.add.reduceat(x[:, 2], starts)
        return np.where(count != 0, find.reduceat(x[:, column], starts), np.nan), count

    return extreme


def _last(x: Matrix, starts: Ints) -> tuple[Floats, Floats]:
    run = np.repeat(np.arange(len(starts)), np.diff([*starts, len(x)]))
    reading = np.where(
        np.isnan(x[:, 0]), -np.inf, x[:, 0]
    )  # of two at one instant the larger, and any number before NaN
    order = np.lexsort((~np.isnan(x[:, 0]), reading, x[:, 2], x[:, 1], run))
    latest = x[order[np.append(starts[1:], len(x)) - 1]]
    return latest[:, 0], np.where(latest[:, 1] < 0, 0.0, 1.0)


VECTOR: dict[str, Callable[[Matrix, Ints], tuple[Floats, Floats]]] = {
    "mean": _ratio,
    "ratio": _ratio,
    "sum": _sum,
    "counter": _counter,
    "moments": _moments,
    "std": _std(1),
    "std0": _std(0),
    "extremes": _extreme(1, np.maximum),
    "max": _extreme(1, np.maximum),
    "min": _extreme(0, np.minimum),
    "last": _last,
}
