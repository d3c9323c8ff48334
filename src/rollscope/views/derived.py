"""Series that nobody logged: what samples and spans say per step, to be read like any other metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.store.merge import Points
from rollscope.views.steps import Series, step_statistics


def derived_series(run: Any) -> dict[str, Points]:
    """Sample statistics and time metrics by name, those that are not logged; each point at the time its step ended."""
    found: dict[str, Series] = {}
    if run.folder.has("samples"):
        found |= step_statistics(run)
    if run.folder.has("spans"):
        from rollscope.views.live_times import LiveTimes  # with the stages of the catalogue

        kept = run.__dict__.setdefault("live_times", LiveTimes(run))
        found |= kept.series()
    if not found:
        return {}
    clocks = run.steps()
    known, ends = clocks["step"], clocks["end_ns"]
    stored = run.folder.places()
    return {name: _points(series, known, ends) for name, series in found.items() if name not in stored}


def _points(series: Series, known: Any, ends: Any) -> Points:
    step, value = np.asarray(series["step"], np.int64), np.asarray(series["value"], np.float64)
    at = np.minimum(np.searchsorted(known, step), max(len(known) - 1, 0))
    time_ns = np.where(known[at] == step, ends[at], -1) if len(known) else np.full(len(step), -1)
    return Points(step, time_ns, value, np.asarray(series["weight"], np.float64), value, value)
