"""Metrics with logged NaN or infinity, apart from NaN that says that there is nothing to say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run

from .series import NonFinite

_PAST_ANY_STEP = float(2**53)
NEED_TWO = {"std", "variance", "interval_low", "interval_high"}  # kinds that are NaN over one thing
NEED_VARIATION = {  # kinds that are NaN over values that are all equal, or all 0
    *("pearson", "explained_variance", "residual_variance", "stabilised_explained_variance"),
    *("effective_share", "imbalance", "evenness"),
}


def non_finite(run: Run, until: int | None = None) -> list[NonFinite]:
    """Metrics with NaN or infinity. One bucket over all steps picks them, so few are read."""
    metrics = run.metrics()
    names, kinds = ([str(word) for word in metrics[column]] for column in ("name", "kind"))
    if not names:
        return []
    bucket = run.buckets(names, -1.0, _PAST_ANY_STEP if until is None else float(until) + 0.5, 1)
    has_any = (bucket["nan"] + bucket["posinf"] + bucket["neginf"]).sum(axis=1) > 0
    hits = ((name, kind) for name, kind, is_hit in zip(names, kinds, has_any, strict=True) if is_hit)
    counts = (_count(run, name, kind, until) for name, kind in hits)
    return [count for count in counts if count is not None]


def _count(run: Run, name: str, kind: str, until: int | None) -> NonFinite | None:
    columns = run.series(name)
    value, step, weight = (np.asarray(columns[column]) for column in ("value", "step", "weight"))
    seen = np.ones(len(step), bool) if until is None else step <= until
    value, step, weight = value[seen], step[seen], weight[seen]
    nan = np.isnan(value) & ~_has_no_value(name, kind, weight)
    nan &= not _is_padding(nan, np.isinf(value))
    steps = step[nan | np.isinf(value)]
    if not len(steps):
        return None
    return NonFinite(name, int(nan.sum()), int(np.isinf(value).sum()), int(steps[0]), int(steps[-1]), len(value))


def _is_padding(nan: NDArray[np.bool_], infinite: NDArray[np.bool_]) -> bool:
    """NaN between values at an even distance: the metric is logged at another cadence."""
    logged = np.flatnonzero(~nan)
    gaps = np.diff(logged)
    return bool(len(gaps) >= 2 and gaps[0] > 1 and (gaps == gaps[0]).all() and not infinite.any())


def _has_no_value(name: str, kind: str, weight: NDArray[Any]) -> NDArray[np.bool_]:
    """Where NaN says that there is nothing to say, and was not logged.

    Weight 0 is no data. One value has no spread, one task no interval, and values that do not vary
    no correlation.
    """
    if kind in NEED_VARIATION:
        return np.ones(len(weight), bool)
    is_spread = kind in NEED_TWO or name.endswith("/std")
    lacking: NDArray[np.bool_] = weight < 2 if is_spread else weight == 0
    return lacking
