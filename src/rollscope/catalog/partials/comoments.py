"""Partials of two variables: correlation, explained variance, effective sample size, noise.

Each holds sums that Chan's rule merges, so any split gives the pooled answer. A mean of the parts'
correlations would not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import ops
from .partial import NAN, Partial, State, kind


@dataclass(frozen=True, slots=True)
class CoMoments(Partial):
    """Count, means, and summed products of the deviations of pairs (x, y)."""

    count: float = 0.0
    mean_x: float = 0.0
    mean_y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0

    @classmethod
    def of(cls, x: Any, y: Any) -> Any:
        n = ops.size(x)
        if not n:
            return cls()
        mean_x, mean_y = ops.total(x) / n, ops.total(y) / n
        with np.errstate(all="ignore"):
            dx, dy = _deviations(x, mean_x), _deviations(y, mean_y)
            return cls(float(n), mean_x, mean_y, ops.dot(dx, dx), ops.dot(dy, dy), ops.dot(dx, dy))

    def __add__(self, other: Any) -> Any:
        if not self.count or not other.count:
            return self if self.count else other
        n = self.count + other.count
        dx, dy, share = other.mean_x - self.mean_x, other.mean_y - self.mean_y, self.count * other.count / n
        return type(self)(
            n,
            self.mean_x + dx * (other.count / n),
            self.mean_y + dy * (other.count / n),
            self.xx + other.xx + dx * dx * share,
            self.yy + other.yy + dy * dy * share,
            self.xy + other.xy + dx * dy * share,
        )

    @property
    def weight(self) -> float:
        return self.count

    def broken(self) -> Any:
        return type(self)(self.count, *[NAN] * 5) if self.count else self

    def state(self) -> State:
        return (self.count, self.mean_x, self.mean_y, self.xx, self.yy, self.xy)


def _deviations(x: Any, centre: Any) -> Any:
    return x - x.dtype.type(centre) if isinstance(x, np.ndarray) else x.double() - centre


@kind("pearson")
@dataclass(frozen=True, slots=True)
class Pearson(CoMoments):
    """Pearson correlation of x and y. NaN if one of them does not vary."""

    @property
    def value(self) -> float:
        if self.count < 2 or not self.xx > 0 or not self.yy > 0:
            return NAN
        return max(-1.0, min(1.0, self.xy / math.sqrt(self.xx) / math.sqrt(self.yy)))


@kind("explained_variance")
@dataclass(frozen=True, slots=True)
class ExplainedVariance(CoMoments):
    """1 - Var(x - y) / Var(x) of target x and prediction y; ddof cancels.

    NaN if the target does not vary.
    """

    @property
    def residual(self) -> float:
        return max(self.xx - 2 * self.xy + self.yy, 0.0)

    @property
    def value(self) -> float:
        return 1.0 - self.residual / self.xx if self.count > 1 and self.xx > 0 else NAN


@kind("residual_variance")
@dataclass(frozen=True, slots=True)
class ResidualVariance(ExplainedVariance):
    """Var(x - y) / Var(x): the share of the target's variance that the prediction leaves."""

    @property
    def value(self) -> float:
        return self.residual / self.xx if self.count > 1 and self.xx > 0 else NAN


@kind("stabilised_explained_variance")
@dataclass(frozen=True, slots=True)
class StabilisedExplainedVariance(ExplainedVariance):
    """1 - Var(x - y) / (Var(x) + 1e-5) with ddof = 1, as some trainers define it.

    It stays finite if the target does not vary.
    """

    @property
    def value(self) -> float:
        n = self.count - 1
        return 1.0 - (self.residual / n) / (self.xx / n + 1e-5) if n > 0 else NAN


@kind("effective_share")
@dataclass(frozen=True, slots=True)
class EffectiveShare(Partial):
    """Effective sample size per weight: (Σw)² / (n Σw²). 1 when all weights are equal."""

    count: float = 0.0
    total: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, w: Any) -> EffectiveShare:
        return cls(float(ops.size(w)), ops.total(w), ops.dot(w, w))

    def __add__(self, other: EffectiveShare) -> EffectiveShare:
        return EffectiveShare(self.count + other.count, self.total + other.total, self.square + other.square)

    @property
    def value(self) -> float:
        return self.total * self.total / (self.count * self.square) if self.count and self.square else NAN

    @property
    def weight(self) -> float:
        return self.count

    def broken(self) -> EffectiveShare:
        return EffectiveShare(self.count, NAN, NAN) if self.count else self

    def state(self) -> State:
        return (self.count, self.total, self.square)


@kind("pure_noise")
@dataclass(frozen=True, slots=True)
class PureNoise(Partial):
    """max(0, (mean power - signal) / (n - 1)): a sum's mean square minus its squared mean."""

    power: float = 0.0
    count: float = 0.0
    signal: float = 0.0  # the same number in all parts of a step

    def __add__(self, other: PureNoise) -> PureNoise:
        return PureNoise(self.power + other.power, self.count + other.count, max(self.signal, other.signal))

    @property
    def value(self) -> float:
        noise = (self.power / self.count - self.signal) / (self.count - 1) if self.count > 1 else NAN
        return noise if math.isnan(noise) else max(0.0, noise)

    def broken(self) -> PureNoise:
        return PureNoise(NAN if self.count else self.power, self.count, self.signal)

    @property
    def weight(self) -> float:
        return self.count

    def state(self) -> State:
        return (self.power, self.count, self.signal)
