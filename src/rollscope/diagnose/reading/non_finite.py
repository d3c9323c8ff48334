"""Metrics with logged NaN or infinity, apart from NaN that says that there is nothing to say."""

from __future__ import annotations

import numpy as np

from rollscope.diagnose.curves.series import NonFinite
from rollscope.store.numbers.merge import Points
from rollscope.store.run import Run
from rollscope.views.no_value import logged_nan


def non_finite(run: Run, until: int | None = None) -> list[NonFinite]:
    """Metrics with NaN or infinity. What the store keeps of each picks them, so few are read."""
    hits = {**dict.fromkeys(_derived(run), "view"), **run.non_finite()}
    counts = (_count(run, name, kind, until) for name, kind in sorted(hits.items()))
    return [count for count in counts if count is not None]


def _derived(run: Run) -> list[str]:
    """Those of samples: NaN over nothing says that a step has none to count."""
    return [name for name, points in run.derived().items() if not run.is_stored(name) and _has_any(points)]


def _has_any(points: Points) -> bool:
    return bool((~np.isfinite(points.value) & (points.weight > 0)).any())


def _count(run: Run, name: str, kind: str, until: int | None) -> NonFinite | None:
    columns = run.series(name)
    value, step, weight = (np.asarray(columns[column]) for column in ("value", "step", "weight"))
    seen = np.ones(len(step), bool) if until is None else step <= until
    value, step, weight = value[seen], step[seen], weight[seen]
    nan = logged_nan(name, kind, value, weight)
    steps = step[nan | np.isinf(value)]
    if not len(steps):
        return None
    return NonFinite(name, int(nan.sum()), int(np.isinf(value).sum()), int(steps[0]), int(steps[-1]), len(value))
