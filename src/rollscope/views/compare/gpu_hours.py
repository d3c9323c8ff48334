"""GPU-hours of a run as an axis: its GPUs times the hours since its start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.store.run import Run
from rollscope.views.charts.grid import Grid, Range
from rollscope.views.configuration import flat

WORDS = ("gpus", "num_gpus", "n_gpus")
SECONDS = 3600.0


def gpus_of(run: Run) -> float | None:
    """The GPUs of a run: declared, configured, or seen by its processes; None if nothing says."""
    settings = {key.rsplit(".", 1)[-1]: value for key, value in reversed([*flat(run.config)])}
    given = next((from_[word] for from_ in (run.declared, settings) for word in WORDS if word in from_), None)
    if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
        return float(given)
    return _seen(run.facts.get("environment"))


def _seen(environment: Any) -> float | None:
    """The devices that the recording process had."""
    places = [environment, environment.get("host")] if isinstance(environment, Mapping) else []
    lists = [place.get("gpus") for place in places if isinstance(place, Mapping)]
    return next((float(len(seen)) for seen in lists if isinstance(seen, list) and seen), None)


def in_hours(seconds: Range, gpus: float) -> Range:
    """A range of seconds since the start, in GPU-hours."""
    return seconds[0] * gpus / SECONDS, seconds[1] * gpus / SECONDS


def in_seconds(grid: Grid, gpus: float) -> Grid:
    """A grid of GPU-hours as one of this run's seconds."""
    return Grid(grid.lo * SECONDS / gpus, grid.hi * SECONDS / gpus, grid.count)
