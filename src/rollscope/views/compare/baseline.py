"""Runs of a project held against its baseline: the evaluation's difference, with an interval.

Everything comes from rows of the list of runs, so no run is opened. A group's interval is Welch's
over seeds; where a side has one run, the noise of the project's repeats gives it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.statistics import interval
from rollscope.statistics.noise import Noise, noise

Row = Mapping[str, Any]  # id, configuration, eval, eval_value


@dataclass(frozen=True, slots=True)
class Delta:
    """What one configuration or run adds to the baseline; an interval of NaN is unknown."""

    value: float
    difference: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class Deltas:
    metric: str
    runs: dict[str, Delta]  # by id
    groups: dict[str, Delta]  # by configuration


def deltas(rows: Sequence[Row], baseline: str) -> Deltas | None:
    """Every run and configuration with the baseline's evaluation; None if the baseline has none."""
    own = next((row for row in rows if row["id"] == baseline), None)
    if own is None or not _is_number(own.get("eval_value")):
        return None
    known = [row for row in rows if row.get("eval") == own["eval"] and _is_number(row.get("eval_value"))]
    by_group: dict[str, list[float]] = {}
    for row in known:
        by_group.setdefault(group_of(row), []).append(float(row["eval_value"]))
    base, spread = by_group[group_of(own)], noise(by_group.values())
    groups = {key: _delta(base, values, spread) for key, values in by_group.items() if key != group_of(own)}
    runs = {
        str(row["id"]): _delta(base, [float(row["eval_value"])], spread)
        for row in known
        if group_of(row) != group_of(own)
    }
    return Deltas(str(own["eval"]), runs, groups)


def group_of(row: Row) -> str:
    """The configuration of a row; a run without one is its own."""
    return str(row.get("configuration") or f"alone {row['id']}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _delta(base: list[float], values: list[float], spread: Noise) -> Delta:
    difference = float(np.mean(values) - np.mean(base))
    low, high = math.nan, math.nan
    if min(len(base), len(values)) >= 2:
        _, low, high, _ = interval.welch(base, values)
    elif spread.freedom:
        half = spread.floor(len(base), len(values))
        low, high = difference - half, difference + half
    return Delta(float(np.mean(values)), difference, low, high, len(values))
