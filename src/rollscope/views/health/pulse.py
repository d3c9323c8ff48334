"""How a run stands as a process: its state, and whether it is silent, stalled or starved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.files import newest
from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning

from .trend import points_of

RECENT_STEPS = 50  # whose median is the usual time of a step
SILENT_SECONDS = 30.0  # a living process is heard every fifteen seconds
SILENT_STEPS = 3.0
STALLED_SECONDS = 60.0
STALLED_STEPS = 10.0
DROPPED = 0.999  # share of samples that are dropped when nothing is left to train on
PATIENCE = 3  # steps without anything to train on


@dataclass(frozen=True, slots=True)
class Pulse:
    """State and progress. `steps` counts steps with rows; seconds are None where it is not so."""

    state: str  # running, finished, crashed, killed
    reason: str = ""
    step: int | None = None
    steps: int = 0
    holds: tuple[str, ...] = ()  # tables of rows that may have no step: samples, spans
    silent: float | None = None  # seconds since anything was heard
    stalled: float | None = None  # seconds since the last step, although the process is heard
    step_seconds: float | None = None
    starved_since: int | None = None  # from this step on every sample was dropped


def pulse(run: Run, meanings: Mapping[str, Meaning], now: float | None = None) -> Pulse:
    record, times = run.record(), run.steps()["time_ns"]
    now = time.time() if now is None else now
    seconds = _step_seconds(times)
    is_running = record["state"] == "running"
    silent = max(0.0, now - newest(run.folder.path)) if is_running else 0.0
    is_silent = silent > max(SILENT_SECONDS, SILENT_STEPS * (seconds or 0.0))
    since_step = now - float(times[-1]) / 1e9 if len(times) and is_running else 0.0
    is_stalled = since_step > max(STALLED_SECONDS, STALLED_STEPS * (seconds or 0.0))
    return Pulse(
        state=str(record["state"]),
        reason=str(record.get("reason") or ""),
        step=record.get("step"),
        steps=len(times) or _longest(run),
        holds=_holds(run),
        silent=silent if is_silent else None,
        stalled=since_step if is_stalled and not is_silent else None,
        step_seconds=seconds,
        starved_since=_starved_since(run, meanings),
    )


def _longest(run: Run) -> int:
    """The steps of the series with the most rows: of a run without clocks, such as an import."""
    metrics = run.metrics()
    if not len(metrics["name"]):
        return 0
    return len(np.unique(run.series(metrics["name"][np.argmax(metrics["count"])])["step"]))


def _holds(run: Run) -> tuple[str, ...]:
    return tuple(table for table in ("samples", "spans") if run.has(table))


def _step_seconds(times: NDArray[Any]) -> float | None:
    seconds = np.diff(times[-RECENT_STEPS:]) / 1e9
    return float(np.median(seconds)) if len(seconds) else None


def _starved_since(run: Run, meanings: Mapping[str, Meaning]) -> int | None:
    """The first of the newest steps in which every sample was dropped; None if there are few."""
    if "discarded/share" not in meanings:
        return None
    points = points_of(run, meanings["discarded/share"].logged)
    kept = np.flatnonzero(~(points.value >= DROPPED))
    first = int(kept[-1]) + 1 if len(kept) else 0
    return int(points.step[first]) if len(points.value) - first >= PATIENCE else None
