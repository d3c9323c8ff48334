"""Which change mattered: the effect of each factor on a score, by least squares over runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rollscope.errors import RollscopeError

from .interval import NAN, quantile
from .units import Floats, values_of

TINY = 1e-9  # a coefficient below this is 0


@dataclass(frozen=True, slots=True)
class Change:
    """A factor that has its usual value in some runs and another value in others."""

    factor: str
    usual: Hashable
    other: Hashable
    where: Floats  # 1 where a run has the other value, else 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What the score did where a factor changed."""

    change: Change
    effect: float  # NaN if these runs cannot tell it
    low: float  # NaN if there are no repeats to judge the noise by
    high: float
    runs_with: int
    runs_without: int
    confounded: tuple[str, ...]  # factors that cannot be told apart from this one


def effects(scores: ArrayLike, factors: Mapping[str, Sequence[Hashable]], level: float = 0.95) -> list[Effect]:
    """One effect for each value of a factor, against the factor's most frequent value.

    Factors that changed in the same runs share one effect: that of all of them together. A factor
    that other factors make up between them has no effect of its own: NaN.
    """
    y = values_of(scores)
    changes = [change for name, values in factors.items() for change in _changes(name, values, len(y))]
    unlike = _unlike(changes)
    fit = _Fit.of(np.column_stack([np.ones(len(y)), *unlike]), y)
    return [_effect(change, changes, unlike, fit, level) for change in changes]


def _changes(name: str, values: Sequence[Hashable], n: int) -> list[Change]:
    if len(values) != n:
        raise RollscopeError(f"factor {name!r} has {len(values)} values for {n} runs; one per run is expected")
    (usual, _), *others = Counter(values).most_common()
    return [Change(name, usual, other, np.array([float(v == other) for v in values])) for other, _ in others]


def _unlike(changes: list[Change]) -> list[Floats]:
    """The columns of a design without doubles."""
    return [np.array(column) for column in dict.fromkeys(tuple(change.where.tolist()) for change in changes)]


@dataclass(frozen=True, slots=True)
class _Fit:
    """Least squares: a coefficient per column, and the noise that is left."""

    design: Floats
    coefficients: Floats
    errors: Floats
    freedom: int

    @classmethod
    def of(cls, design: Floats, y: Floats) -> _Fit:
        inverse = np.linalg.pinv(design)
        coefficients = inverse @ y
        freedom = len(y) - int(np.linalg.matrix_rank(design))
        left = float(np.square(y - design @ coefficients).sum())
        noise = left / freedom if freedom > 0 else NAN
        return cls(design, coefficients, np.sqrt(noise * np.square(inverse).sum(axis=1)), freedom)

    def made_of(self, column: int) -> Floats:
        """The other columns that add up to this one; all 0 if it stands on its own."""
        others = np.delete(self.design, column, axis=1)
        parts = np.linalg.pinv(others) @ self.design[:, column]
        together = bool(np.allclose(others @ parts, self.design[:, column], atol=TINY))
        return np.insert(parts if together else np.zeros(len(parts)), column, 0.0)


def _effect(change: Change, changes: list[Change], unlike: list[Floats], fit: _Fit, level: float) -> Effect:
    column = 1 + next(i for i, where in enumerate(unlike) if np.array_equal(where, change.where))
    parts = np.abs(fit.made_of(column)) > TINY
    clear = not parts.any()
    effect = float(fit.coefficients[column]) if clear else NAN
    half = quantile(0.5 + level / 2, fit.freedom) * float(fit.errors[column]) if clear and fit.freedom > 0 else NAN
    mixed = [fit.design[:, i] for i in np.flatnonzero(parts) if i] + [change.where]
    beside = {c.factor: None for c in changes if any(np.array_equal(c.where, column) for column in mixed)}
    runs_with = int(change.where.sum())
    without = len(change.where) - runs_with
    confounded = tuple(name for name in beside if name != change.factor)
    return Effect(change, effect, effect - half, effect + half, runs_with, without, confounded)
