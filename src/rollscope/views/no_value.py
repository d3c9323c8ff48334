"""NaN that says that there is nothing to say, apart from NaN that was logged as a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
NEED_TWO = {"std", "variance", "interval_low", "interval_high"}  # kinds that are NaN over one thing
NEED_VARIATION = {  # kinds that are NaN over values that are all equal, or all 0
    *("pearson", "explained_variance", "residual_variance", "stabilised_explained_variance"),
    *("effective_share", "imbalance", "evenness"),
}


def logged_nan(name: str, kind: str, value: NDArray[Any], weight: NDArray[Any]) -> Mask:
    """Where a NaN is a value: not over nothing, and not between values of another cadence."""
    nan: Mask = np.isnan(value) & ~_says_nothing(name, kind, weight)
    return nan & (not _is_padding(nan, np.isinf(value)))


def _says_nothing(name: str, kind: str, weight: NDArray[Any]) -> Mask:
    """Weight 0 is no data. One value has no spread, one task no interval, and values that do not
    vary no correlation.
    """
    if kind in NEED_VARIATION:
        return np.ones(len(weight), bool)
    is_spread = kind in NEED_TWO or name.endswith("/std")
    lacking: Mask = weight < 2 if is_spread else weight == 0
    return lacking


def _is_padding(nan: Mask, infinite: Mask) -> bool:
    """NaN between values at an even distance: the metric is logged at another cadence."""
    logged = np.flatnonzero(~nan)
    gaps = np.diff(logged)
    return bool(len(gaps) >= 2 and gaps[0] > 1 and (gaps == gaps[0]).all() and not infinite.any())
