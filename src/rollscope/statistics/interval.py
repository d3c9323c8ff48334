"""The mean of independent units with its interval, by Student's t; clusters are allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .units import Clusters, Floats, Ints, labels_of, sums_of, values_of

NAN = math.nan


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its standard error, and what it stands on."""

    value: float
    error: float  # standard error; NaN with fewer than two units
    units: int  # tasks, clusters or runs

    @property
    def freedom(self) -> int:
        return self.units - 1

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that covers the true value with this probability; NaN with one unit."""
        if math.isnan(self.error):
            return NAN, NAN
        half = quantile(0.5 + level / 2, self.freedom) * self.error
        return self.value - half, self.value + half


def quantile(share: float, freedom: float) -> float:
    """The number below which this share of Student's t lies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def tail(t: float, freedom: float) -> float:
    """The probability that Student's t exceeds a number."""
    from scipy.special import stdtr

    return float(stdtr(freedom, -t))


def mean(values: ArrayLike, clusters: Clusters = None) -> Estimate:
    """The mean over units. With clusters, values of one cluster may move together."""
    numbers = values_of(values)
    if not len(numbers):
        return Estimate(NAN, NAN, 0)
    labels = labels_of(clusters, len(numbers))
    units = int(labels.max()) + 1
    return Estimate(float(numbers.mean()), _error(numbers, labels, units), units)


def _error(values: Floats, labels: Ints, units: int) -> float:
    """The cluster-robust standard error of a mean. With one value a cluster it is the plain one."""
    if units < 2:
        return NAN
    residuals = sums_of(values - values.mean(), labels)
    return math.sqrt(units / (units - 1) * float(np.square(residuals).sum())) / len(values)


def difference(a: ArrayLike, b: ArrayLike) -> tuple[Estimate, float]:
    """Mean of b minus mean of a, for two groups of runs, and Welch's degrees of freedom."""
    left, right = mean(a), mean(b)
    error = math.hypot(left.error, right.error)
    freedom = _welch(left, right) if error > 0 else float(left.units + right.units - 2)
    return Estimate(right.value - left.value, error, left.units + right.units), freedom


def _welch(left: Estimate, right: Estimate) -> float:
    parts = [(side.error**2, side.freedom) for side in (left, right)]
    return float(sum(part for part, _ in parts) ** 2 / sum(part**2 / freedom for part, freedom in parts))


def welch(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> tuple[float, float, float, float]:
    """Mean of b minus mean of a, its interval, and p, for two groups of independent runs."""
    gap, freedom = difference(a, b)
    if math.isnan(gap.error):
        return gap.value, NAN, NAN, NAN
    half = quantile(0.5 + level / 2, freedom) * gap.error
    p = 2 * tail(abs(gap.value) / gap.error, freedom) if gap.error > 0 else float(gap.value == 0)
    return gap.value, gap.value - half, gap.value + half, p
