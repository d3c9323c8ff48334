"""Trends without assumptions: Theil and Sen's slope, Mann and Kendall's significance, rank
correlation.

Long series are cut into blocks, whose medians stand for them: a trend that matters survives that,
and so does the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import norm, rankdata

from .series import FloatArray

BLOCKS = 60
SIGNIFICANT = 0.01


@dataclass(frozen=True, slots=True)
class Trend:
    """The change over a stretch by its robust slope, and how likely chance makes one like it."""

    change: float  # slope times length
    p: float
    level: float  # median

    @property
    def rises(self) -> bool:
        return self.change > 0 and self.p < SIGNIFICANT

    @property
    def falls(self) -> bool:
        return self.change < 0 and self.p < SIGNIFICANT


def trend(value: FloatArray) -> Trend:
    """The trend of equally spaced values. Fewer than five have none."""
    values = blocks(value)
    n = len(values)
    if n < 5:
        return Trend(0.0, 1.0, float(np.median(value)) if len(value) else math.nan)
    i, j = np.triu_indices(n, 1)
    gaps = values[j] - values[i]
    slope = float(np.median(gaps / (j - i)))
    return Trend(slope * (n - 1), _kendall(values, gaps), float(np.median(values)))


def blocks(value: FloatArray, most: int = BLOCKS) -> FloatArray:
    """At most `most` medians of blocks of equal length; a short series is itself."""
    if len(value) <= most:
        return np.asarray(value, np.float64)
    edges = np.linspace(0, len(value), most + 1).astype(int)
    return np.array([np.median(value[lo:hi]) for lo, hi in pairwise(edges)])


def _kendall(values: FloatArray, gaps: FloatArray) -> float:
    """Two-sided p of Mann and Kendall's test, with its correction for ties."""
    n = len(values)
    score = float(np.sign(gaps).sum())
    ties = np.unique(values, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0 or score == 0:
        return 1.0
    return float(2 * norm.sf((abs(score) - 1) / math.sqrt(variance)))


def rank_correlation(x: FloatArray, y: FloatArray) -> float:
    """Spearman's correlation; NaN for fewer than four pairs, or if either does not vary."""
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
