"""Values and the independent units they belong to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollscope.errors import RollscopeError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Clusters = Sequence[Hashable] | None  # one per value; None: every value stands alone


def values_of(values: ArrayLike) -> Floats:
    """One-dimensional finite numbers."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1:
        raise RollscopeError(f"the values have shape {numbers.shape}; one number per task or run is expected")
    if not np.isfinite(numbers).all():
        raise RollscopeError("a value is NaN or infinite; leave tasks without a score out, and count them as failed")
    return numbers


def labels_of(clusters: Clusters, n: int) -> Ints:
    """The number of each value's cluster, from 0. Without clusters every value has its own."""
    if clusters is None:
        return np.arange(n)
    if len(clusters) != n:
        raise RollscopeError(f"there are {len(clusters)} clusters for {n} values; one cluster per value is expected")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.int64)


def sums_of(values: Floats, labels: Ints) -> Floats:
    """The sum of the values of each cluster."""
    sums = np.zeros(int(labels.max(initial=-1)) + 1)
    np.add.at(sums, labels, values)
    return sums
