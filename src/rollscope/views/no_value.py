"""NaN that says that there is nothing to say, apart from NaN that was logged as a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns

Mask = NDArray[np.bool_]
NEED_TWO = {"std", "variance", "interval_low", "interval_high"}  # kinds that are NaN over one thing
NEED_VARIATION = {  # kinds that are NaN over values that are all equal, or all 0
    *("pearson", "explained_variance", "residual_variance", "stabilised_explained_variance"),
    *("effective_share", "imbalance", "evenness"),
}


def last_known(run: Run) -> NDArray[Any]:
    """The last value of each row of `run.metrics()`, None where its last step has no data."""
    return run.remember("last known", lambda: _last_known(run, run.metrics()))


def _last_known(run: Run, metrics: Columns) -> NDArray[Any]:
    last = metrics["last"].astype(object)
    for i in np.flatnonzero(np.isnan(metrics["last"])).tolist():
        if not _ends_in_nan(run, metrics["name"][i], metrics["kind"][i]):
            last[i] = None
    return last


def _ends_in_nan(run: Run, name: str, kind: str) -> bool:
    """True if the last value of a series was logged as NaN."""
    try:
        columns = run.series(name)
    except BadInput:  # of a kind that only a newer version can add: `metrics` lists it without a value
        return False
    said = logged_nan(name, kind, np.asarray(columns["value"]), np.asarray(columns["weight"]))
    return bool(said[-1:].any())


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
