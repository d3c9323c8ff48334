"""Metrics that say nothing: their values never change, or they have none."""

from __future__ import annotations

import numpy as np

from rollscope.store.run import Run


def still_names(run: Run) -> list[str]:
    """Names of a run with one finite value for all steps, or none. A single point is no constant.

    A logged NaN or infinity is news, so such a series is not still.
    """
    names = run.metrics()["name"].tolist()
    first, last = run.step_range
    if not names:
        return []
    columns = run.buckets(names, first - 0.5, last + 0.5, 1)
    low, high, count = (columns[key][:, 0] for key in ("min", "max", "count"))
    odd = sum(columns[key][:, 0] for key in ("nan", "posinf", "neginf"))
    constant = (low == high) & (count > 1)
    empty = count == 0
    return [name for name, is_still in zip(names, (constant | empty) & (np.asarray(odd) == 0), strict=True) if is_still]
