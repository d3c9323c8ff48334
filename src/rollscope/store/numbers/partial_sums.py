"""Add partials by their states, many steps at once.

Kinds with a fixed number of floats are added here, column by column; a test compares each of them
with the partial's own `+`. Kinds of any length (histograms, groups) are added one step at a time by
the `PartialOf` given to `store.open`: the store knows columns, not metrics.
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
    """Builds a partial (`+`, `.value`, `.weight`) from kind and state; None for an unknown kind."""

    def __call__(self, kind: str, state: Sequence[float]) -> Any | None: ...


def nothing_more(kind: str, state: Sequence[float]) -> None:
    """A `PartialOf` that knows no kind: the store alone adds only the kinds below."""
    return None


def add(kind: str, state: States, starts: Ints, partials: PartialOf) -> tuple[Floats, Floats]:
    """Add the partials of each stretch of rows that begins at `starts`: values and weights."""
    lengths = state.lengths()
    vector = VECTOR.get(kind)
    if vector is not None and len(lengths) and (lengths == lengths[0]).all():
        return vector(state.flat.reshape(len(lengths), -1), starts)
    bounds = [*starts.tolist(), len(state.ends)]
    sums = [_sum_of(kind, [state.of(i).tolist() for i in range(lo, hi)], partials) for lo, hi in pairwise(bounds)]
    return np.array([s.value for s in sums], np.float64), np.array([s.weight for s in sums], np.float64)


def _sum_of(kind: str, states: list[list[float]], partials: PartialOf) -> Any:
    try:
        parts: list[Any] = [partials(kind, state) for state in states]
        if None not in parts:
            return fold(lambda a, b: a + b, parts)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        pass  # numbers that no partial of this kind has
    raise BadInput(
        f"{len(states)} rows of kind {kind!r} belong to one step, and this reader cannot add them."
        " Open the run with rollscope.open, of a version that knows the kind."
    )


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


@np.errstate(over="ignore", invalid="ignore")  # with an infinite mean M2 is NaN, as in the partial's own `+`
def _pooled(x: Matrix, starts: Ints) -> tuple[Floats, Floats, Floats]:
    """(count, mean, M2) of each stretch, around its own mean, so large means lose no digits."""
    some = x[:, 0] > 0
    count, mean, m2 = np.where(some, x.T, 0.0)
    n = np.add.reduceat(count, starts)
    first = np.maximum.reduceat(np.where(some, mean, -np.inf), starts)  # a value of the stretch to measure from
    first = np.where(np.isfinite(first), first, 0.0)
    stretch = np.repeat(np.arange(len(starts)), np.diff([*starts, len(x)]))
    shift = np.where(some, mean - first[stretch], 0.0)
    centre = _quotient(np.add.reduceat(count * shift, starts), n)
    away = np.where(some, shift - np.nan_to_num(centre)[stretch], 0.0)
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
    """The latest reading. Of two at one instant the larger counts, and any number before NaN."""
    stretch = np.repeat(np.arange(len(starts)), np.diff([*starts, len(x)]))
    reading = np.where(np.isnan(x[:, 0]), -np.inf, x[:, 0])
    order = np.lexsort((~np.isnan(x[:, 0]), reading, x[:, 2], x[:, 1], stretch))
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
