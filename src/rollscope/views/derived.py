"""Series that were not logged: statistics of samples, scans and spans per step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rollscope.store.numbers.lazy_columns import Computed
from rollscope.store.numbers.merge import Points
from rollscope.store.run import Run

from .steps import Series, step_statistics

Ints = NDArray[np.int64]


def derived_series(run: Run) -> Mapping[str, Points]:
    """Sample statistics and time metrics by name, without names that were logged.

    Each point has the time at which its step ended.
    """
    series: dict[str, Series] = {}
    if run.has("samples"):
        series |= step_statistics(run)
    if run.has("scans"):
        from .recomputed import recomputed_series
        from .scan_series import scan_series

        series |= scan_series(run) | recomputed_series(run)
    if run.has("spans"):
        from rollscope.views.time.live_times import LiveTimes  # imports the stages of the catalogue

        series |= run.companion("live times", lambda: LiveTimes(run)).series()
    if not series:
        return {}
    steps, ends = _step_ends(run)
    own = {name: one for name, one in series.items() if not run.is_stored(name)}
    ended = EndTimes(steps, ends)
    return Computed({name: partial(_points, one, ended) for name, one in own.items()})


def _step_ends(run: Run) -> tuple[Ints, Ints]:
    """Steps and when they ended; without any, the first and last step and time of the run."""
    clocks = run.steps()
    if len(clocks["step"]):
        return clocks["step"], clocks["end_ns"]
    (first, last), last_step = run.time_range, run.last_step
    start = int(run.facts.get("started_ns") or 0) if first is None else first
    return np.array([0, max(last_step or 1, 1)]), np.array([start, last or start + 1])


class EndTimes:
    """When steps ended. Most series have the steps of another one, whose times are kept."""

    def __init__(self, steps: Ints, ends: Ints) -> None:
        self._steps, self._ends = steps, ends
        self._known: dict[tuple[int, ...], tuple[Ints, Ints]] = {}  # by extent: steps, and when they ended

    def of(self, step: Ints) -> Ints:
        extent = (len(step), *step[:1].tolist(), *step[-1:].tolist())
        known, times = self._known.get(extent, (None, step))
        if known is None or not (known is step or np.array_equal(known, step)):
            times = self._computed(step)
            self._known[extent] = step, times
        return times

    def _computed(self, step: Ints) -> Ints:
        """When each step ended; one that is not among the known ones is interpolated."""
        if np.array_equal(step, self._steps):
            return self._ends
        at = np.minimum(np.searchsorted(self._steps, step), len(self._steps) - 1)
        # Interpolate from the first end: a double cannot hold today's time in nanoseconds.
        between = np.interp(step, self._steps, self._ends - self._ends[0]).astype(np.int64) + self._ends[0]
        return np.where(self._steps[at] == step, self._ends[at], between)


def _points(series: Series, ended: EndTimes) -> Points:
    step, value = np.asarray(series["step"], np.int64), np.asarray(series["value"], np.float64)
    return Points(step, ended.of(step), value, np.asarray(series["weight"], np.float64), value, value)
