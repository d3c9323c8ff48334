"""Rows of a project against its baseline. A run that goes on is held against it at its own step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from rollscope.errors import RollscopeError
from rollscope.server.library import Library
from rollscope.strict_json import Number, number
from rollscope.views.compare.baseline import Delta, deltas, group_of


class DeltaShape(TypedDict):
    """A difference to the baseline; null ends: nothing says how sure it is. `at`: at that step."""

    value: Number
    difference: Number
    low: Number
    high: Number
    runs: int
    at: int | None


class ProjectDeltas(TypedDict):
    baseline: str
    metric: str
    runs: dict[str, DeltaShape]
    groups: dict[str, DeltaShape]


class DeltasShape(TypedDict):
    projects: dict[str, ProjectDeltas]


def against(library: Library, rows: Sequence[dict[str, Any]], baseline: str) -> ProjectDeltas | None:
    """None if the baseline is gone or has no evaluation."""
    found = deltas(rows, baseline)
    if found is None:
        return None
    own = next(row for row in rows if row["id"] == baseline)
    base = [str(row["id"]) for row in rows if group_of(row) == group_of(own) and row["state"] != "running"]
    runs = {id: _shape(delta) for id, delta in found.runs.items()}
    for row in rows:
        if row["state"] == "running" and row["id"] in runs:
            runs[row["id"]] = _unfinished(library, str(row["id"]), base or [baseline], found.metric)
    groups = {key: _shape(delta) for key, delta in found.groups.items()}
    return {"baseline": baseline, "metric": found.metric, "runs": runs, "groups": groups}


def _shape(delta: Delta) -> DeltaShape:
    numbers = {key: _finite(getattr(delta, key)) for key in ("value", "difference", "low", "high")}
    return {**numbers, "runs": delta.runs, "at": None}  # type: ignore[typeddict-item]


def _finite(value: float) -> Number:
    return number(value) if math.isfinite(value) else None


def _unfinished(library: Library, id: str, base: Sequence[str], metric: str) -> DeltaShape:
    """The difference at the newest step that the run has evaluated."""
    steps, values = _series(library, id, metric)
    step = int(steps[-1]) if len(steps) else None
    earlier = [] if step is None else [_at(*_series(library, one, metric), step) for one in base]
    known = [value for value in earlier if math.isfinite(value)]
    value = float(values[-1]) if len(values) else math.nan
    difference = value - float(np.mean(known)) if known else math.nan
    return {
        "value": _finite(value),
        "difference": _finite(difference),
        "low": None,
        "high": None,
        "runs": 1,
        "at": step,
    }


def _series(library: Library, id: str, metric: str) -> tuple[Any, Any]:
    try:
        with library.reading(id) as run:
            series = run.series(metric)
            return series["step"], series["value"]
    except RollscopeError:
        return np.zeros(0, np.int64), np.zeros(0)


def _at(steps: Any, values: Any, step: int) -> float:
    """The newest value up to a step."""
    before = np.flatnonzero(steps <= step)
    return float(values[before[-1]]) if len(before) else math.nan
