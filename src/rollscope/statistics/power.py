"""How small a difference can a set show? The minimum detectable effect of a paired t test."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from . import interval
from .units import Clusters

LEVEL, POWER = 0.95, 0.8
STEPS = 60  # halvings: more than a double can tell apart


def detectable(differences: ArrayLike, clusters: Clusters = None, power: float = POWER) -> float:
    """The smallest true difference that is found with this probability at the 95 % level.

    Takes the differences of the same tasks between two evaluations. NaN if fewer than two units
    were compared; 0 if no task differs.
    """
    gap = interval.mean(differences, clusters)
    return gap.error * shift(gap.freedom, power) if gap.units >= 2 else math.nan


def detectable_alone(scores: ArrayLike, clusters: Clusters = None, power: float = POWER) -> float:
    """The same from one evaluation, as if the second were independent: the cautious answer."""
    one = interval.mean(scores, clusters)
    return math.sqrt(2) * one.error * shift(one.freedom, power) if one.units >= 2 else math.nan


def shift(freedom: float, power: float = POWER) -> float:
    """How many standard errors a true difference must be away from 0 to be found."""
    low, high = 0.0, 1e3
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, freedom) >= power else (middle, high)
    return high


def _power(shift: float, freedom: float) -> float:
    from scipy.special import nctdtr

    limit = interval.quantile(0.5 + LEVEL / 2, freedom)
    upper = 1 - nctdtr(freedom, shift, limit)
    lower = nctdtr(freedom, shift, -limit)
    return float(np.nan_to_num(upper, nan=1.0) + np.nan_to_num(lower))
