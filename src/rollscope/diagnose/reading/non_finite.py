"""Metrics with logged NaN or infinity, apart from NaN that says that there is nothing to say."""

from __future__ import annotations

import numpy as np

from rollscope.diagnose.curves.series import NonFinite
from rollscope.store.numbers.merge import Points
from rollscope.store.run import Run
from rollscope.store.series.non_finite import one_by_one, with_any
from rollscope.views.no_value import logged_nan

_PAST_ANY_STEP = float(2**53)


def non_finite(run: Run, until: int | None = None) -> list[NonFinite]:
    """Metrics with NaN or infinity. What the store keeps of each picks them, so few are read."""
    hits = sorted({*_stored(run, until), *_derived(run)})
    if not hits:
        return []
    metrics = run.metrics()
    kinds = {str(name): str(kind) for name, kind in zip(metrics["name"], metrics["kind"], strict=True)}
    counts = (_count(run, name, kinds.get(name, ""), until) for name in hits)
    return [count for count in counts if count is not None]


def _stored(run: Run, until: int | None) -> list[str]:
    """Names on a grid are asked together; rows that are merged name by name are only looked at."""
    names = sorted(run.stored_names())
    alone = one_by_one(run.folder, names)
    rest = sorted({*names} - {*alone})
    return [*_on_grid(run, rest, until), *with_any(run.folder, alone)]


def _on_grid(run: Run, names: list[str], until: int | None) -> list[str]:
    if not names:
        return []
    bucket = run.buckets(names, -1.0, _PAST_ANY_STEP if until is None else float(until) + 0.5, 1)
    has_any = (bucket["nan"] + bucket["posinf"] + bucket["neginf"]).sum(axis=1) > 0
    return [name for name, is_hit in zip(names, has_any, strict=True) if is_hit]


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
