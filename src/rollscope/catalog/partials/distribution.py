"""Values whose spread matters: a metric that returns a `Distribution` has one canonical name for each statistic.

`Summary` is what the engine keeps of it while it walks through blocks: moments, ends, and the values or their dense bucket counts; `partials` turns
the finished summary into one partial per statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import histogram, ops
from .partial import Max, Min, Moments, Partial, PopulationStd, Std, _chan

QUANTILES: dict[str, type[histogram.Histogram]] = {"p05": histogram.P05, "p50": histogram.P50, "p95": histogram.P95}


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The values of a metric that has statistics. `histogram=False` leaves the quantiles out."""

    values: Any
    histogram: bool = True


@dataclass(slots=True, eq=False)
class Summary:
    """Moments and ends of a distribution so far, and for its quantiles the values while they are few, else bucket counts."""

    moments: tuple[Any, ...]
    ends: tuple[Any, ...]
    counts: Any = None
    values: Any = None

    @classmethod
    def of(cls, distribution: Distribution, stats: Sequence[str]) -> Summary:
        x = distribution.values
        x = x if ops.is_torch(x) else np.asarray(x)
        if not ops.is_torch(x) and x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        wants_counts = distribution.histogram and any(stat in QUANTILES for stat in stats) and ops.size(x) > 0
        few = wants_counts and ops.size(x) <= histogram.EXACT
        return cls(
            ops.moments(x).state(),
            ops.extremes(x),
            histogram.bucket_counts(x) if wants_counts and not few else None,
            x if few else None,
        )

    def add(self, other: Summary) -> None:
        self.moments = _chan(self.moments, other.moments)
        self.ends = (Max(*self.ends) + Max(*other.ends)).state()
        few = [x.values for x in (self, other) if x.values is not None]
        if self.counts is None and other.counts is None and sum(map(len, few)) <= histogram.EXACT:
            self.values = np.concatenate(few) if few else None
        else:
            self.counts, self.values = _added(self._counted(), other._counted()), None

    def _counted(self) -> Any:
        return self.counts if self.values is None else histogram.bucket_counts(np.asarray(self.values))

    def partials(self, stats: Sequence[str]) -> dict[str, Partial]:
        found: dict[str, Partial] = {}
        for stat in stats:
            partial = self._partial(stat)
            if partial is not None:
                found[stat] = partial
        return found

    def _partial(self, stat: str) -> Partial | None:
        if stat in QUANTILES:
            if self.values is not None:
                return QUANTILES[stat].of(self.values)
            if self.counts is None:
                return QUANTILES[stat]() if not self.moments[0] else None
            return QUANTILES[stat].of_counts(self.ends[0], self.ends[1], self.counts)
        simple: dict[str, Partial] = {
            "mean": Moments(*self.moments),
            "std": Std(*self.moments),
            "std0": PopulationStd(*self.moments),
            "min": Min(*self.ends),
            "max": Max(*self.ends),
        }
        return simple[stat]


def _added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b
