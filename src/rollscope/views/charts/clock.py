"""The clocks of a run: what each reads at every step, and ranges of steps on another clock."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run

Clock = Literal["step", "time", "relative", "tokens", "samples"]
Floats = NDArray[np.float64]


def readings(run: Run, clock: Clock) -> Floats:
    """A clock's reading at every step; times are in seconds."""
    steps = run.steps()
    if clock == "time":
        return np.asarray(steps["time_ns"] / 1e9, np.float64)
    if clock == "relative":
        started = int(run.facts.get("started_ns") or steps["time_ns"][0])
        return np.asarray((steps["time_ns"] - started) / 1e9, np.float64)
    return np.asarray(steps[clock], np.float64)


def has_readings(run: Run, clock: Clock) -> bool:
    """Did the run record this clock?"""
    return clock in ("step", "time", "relative") or bool(np.isfinite(readings(run, clock)).any())


def range_on_clock(run: Run, clock: Clock, lo: float, hi: float) -> tuple[float, float] | None:
    """A range of steps on another clock; None if the run has no readings of it."""
    steps: NDArray[Any] = run.steps()["step"]
    if not len(steps):
        return None
    reading = readings(run, clock)
    known = np.isfinite(reading)
    if not known.any():
        return None
    first, last = np.interp([lo, hi], steps[known], reading[known])
    return float(first), float(last)
