"""Counters go on: a total that several processes count together, over its whole history.

A writer knows what was counted before it began and what it has counted itself, not what the others have. So on reading, the total of a step is the
larger of what its rows say was there before and the total of the step before it, plus what was added: right also where a shard came later, left
earlier, or the run was resumed with another number of them.
"""

from __future__ import annotations

import numpy as np

from .merge import Points

KIND = "counter"


def running(points: Points) -> Points:
    """`points` of a counter, whose weight is what its step added, as totals that go on."""
    if not len(points):
        return points
    added = np.nan_to_num(points.weight)
    before = np.fmax(points.value - added, -np.inf)  # a NaN that was logged says nothing of what was there before
    earlier = np.cumsum(added) - added  # in all steps before this one
    total = np.maximum.accumulate(before - earlier) + earlier + added
    return Points(points.step, points.time_ns, total, points.weight, total, total)
