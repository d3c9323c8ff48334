"""Counters: running totals that several processes count together.

A writer knows the total before it began and its own count, not the counts of other writers. So the
total of a step is computed on reading: the larger of the total its rows carry from before and the
total of the previous step, plus the amounts that were added. This is right also if a shard joined
late, left early, or the run was resumed with another number of shards.
"""

from __future__ import annotations

import numpy as np

from .merge import Points

KIND = "counter"


def running(points: Points) -> Points:
    """Turn the merged points of a counter, whose weight is the amount added, into totals."""
    if not len(points):
        return points
    added = np.nan_to_num(points.weight)
    before = np.fmax(points.value - added, -np.inf)  # a logged NaN tells nothing about the total before
    earlier = np.cumsum(added) - added  # in all previous steps
    total = np.maximum.accumulate(before - earlier) + earlier + added
    return Points(points.step, points.time_ns, total, points.weight, total, total)
