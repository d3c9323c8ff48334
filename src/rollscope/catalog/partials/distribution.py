"""Values whose spread matters: a `Distribution` has one canonical name for each of its statistics.

The engine adds the blocks of a batch to a `Summary`: moments, ends, and the values or their dense
bucket counts. `Summary.partials` then gives one partial per statistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import histogram, ops
from .moments import Moments, PopulationStd, Std, merged
from .partial import Max, Min, Partial

QUANTILES: dict[str, type[histogram.Histogram]] = {"p05": histogram.P05, "p50": histogram.P50, "p95": histogram.P95}


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The values of a metric with statistics. `histogram=False` leaves the quantiles out."""

    values: Any
    histogram: bool = True


@dataclass(slots=True, eq=False)
class Summary:
    """Moments and ends so far. For quantiles, few `values`, or bucket `counts` of many."""

    moments: tuple[Any, ...]
    ends: tuple[Any, ...]
    counts: Any = None
    values: Any = None

    @classmethod
    def of(cls, distribution: Distribution, stats: Sequence[str]) -> Summary:
        x = _floats(distribution.values)
        summary = cls(ops.moments(x).state(), ops.extremes(x))
        if distribution.histogram and ops.size(x) and any(stat in QUANTILES for stat in stats):
            if ops.size(x) <= histogram.EXACT:
                summary.values = x
            else:
                summary.counts = histogram.bucket_counts(x)
        return summary

    def add(self, other: Summary) -> None:
        self.moments = merged(self.moments, other.moments)
        self.ends = (Max(*self.ends) + Max(*other.ends)).state()
        values = [x.values for x in (self, other) if x.values is not None]
        if self.counts is None and other.counts is None and sum(map(len, values)) <= histogram.EXACT:
            self.values = np.concatenate(values) if values else None
        else:
            self.counts, self.values = _added(self._counted(), other._counted()), None

    def broken(self) -> Summary:
        """The same with NaN for every statistic, because an input was NaN."""
        n = self.moments[0]
        if not n:
            return self
        values = None if self.values is None else np.full(len(self.values), math.nan)
        return Summary((n, math.nan, math.nan), (math.nan, math.nan, n), self.counts, values)

    def _counted(self) -> Any:
        return self.counts if self.values is None else histogram.bucket_counts(np.asarray(self.values))

    def partials(self, stats: Sequence[str]) -> dict[str, Partial]:
        """One partial per statistic, without quantiles where `histogram=False` left them out."""
        partials = {stat: self._partial(stat) for stat in stats}
        return {stat: partial for stat, partial in partials.items() if partial is not None}

    def _partial(self, stat: str) -> Partial | None:
        if stat in QUANTILES:
            return self._quantile(QUANTILES[stat])
        simple: dict[str, Partial] = {
            "mean": Moments(*self.moments),
            "std": Std(*self.moments),
            "std0": PopulationStd(*self.moments),
            "min": Min(*self.ends),
            "max": Max(*self.ends),
        }
        return simple[stat]

    def _quantile(self, kind: type[histogram.Histogram]) -> Partial | None:
        if self.values is not None:
            return kind.of(self.values)
        if self.counts is not None:
            return kind.of_counts(self.ends[0], self.ends[1], self.counts)
        return None if self.moments[0] else kind()


def _floats(x: Any) -> Any:
    """The values as a float array or a tensor."""
    if ops.is_torch(x):
        return x
    x = np.asarray(x)
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def _added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b
