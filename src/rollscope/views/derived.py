"""Series that nobody logged: what samples and spans say per step, to be read like any other metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.store.numbers.merge import Points
from rollscope.store.run import Run

from .steps import Series, step_statistics


def derived_series(run: Run) -> dict[str, Points]:
    """Sample statistics and time metrics by name, those that are not logged; each point at the time its step ended."""
    found: dict[str, Series] = {}
    if run.has("samples"):
        found |= step_statistics(run)
    if run.has("spans"):
        from rollscope.views.time.live_times import LiveTimes  # with the stages of the catalogue

        found |= run.companion("live times", lambda: LiveTimes(run)).series()
    if not found:
        return {}
    known, ends = _clock(run)
    return {name: _points(series, known, ends) for name, series in found.items() if not run.is_stored(name)}


def _clock(run: Run) -> tuple[Any, Any]:
    """Steps and when they ended; of a run that never said, its own first and last moment."""
    clocks = run.steps()
    if len(clocks["step"]):
        return clocks["step"], clocks["end_ns"]
    (first, last), end = run.time_range, run.last_step
    start = int(run.facts.get("started_ns") or 0) if first is None else first
    return np.array([0, max(end or 1, 1)]), np.array([start, last or start + 1])


def _points(series: Series, known: Any, ends: Any) -> Points:
    step, value = np.asarray(series["step"], np.int64), np.asarray(series["value"], np.float64)
    at = np.minimum(np.searchsorted(known, step), len(known) - 1)
    between = (
        np.interp(step, known, ends - ends[0]).astype(np.int64) + ends[0]
    )  # from the first: a double has no room for today's nanoseconds
    time_ns = np.where(known[at] == step, ends[at], between)
    return Points(step, time_ns, value, np.asarray(series["weight"], np.float64), value, value)
