"""The noise of a project: how far runs of one configuration are apart by chance."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .interval import quantile
from .units import values_of


@dataclass(frozen=True, slots=True)
class Noise:
    """The pooled spread of repeated configurations."""

    spread: float  # standard deviation of one run; NaN without a repeated configuration
    freedom: int
    runs: int
    configurations: int

    def floor(self, runs: int = 1, others: int = 1, level: float = 0.95) -> float:
        """Differences of two means below this come from chance alone, at this level."""
        if not self.freedom:
            return math.nan
        return quantile(0.5 + level / 2, self.freedom) * self.spread * math.sqrt(1 / runs + 1 / others)


def noise(groups: Iterable[ArrayLike]) -> Noise:
    """Pool groups of runs that differ in nothing but their seed. A group of one says nothing."""
    repeated = [group for group in map(values_of, groups) if len(group) >= 2]
    freedom = sum(len(group) - 1 for group in repeated)
    squares = sum(float(np.square(group - group.mean()).sum()) for group in repeated)
    spread = math.sqrt(squares / freedom) if freedom else math.nan
    return Noise(spread, freedom, sum(map(len, repeated)), len(repeated))
