"""Curves of groups of runs on one x axis: a centre with its band, single runs, and the difference.

A group's curve stands where every run of it has a value. A run that stopped long before the others
is drawn, and not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollscope.statistics import seeds
from rollscope.statistics.noise import Noise, noise
from rollscope.store.run import Run
from rollscope.views.charts.clock import Clock
from rollscope.views.charts.grid import Grid, buckets
from rollscope.views.dictionary import Meaning, stored_meanings

from .partings import Parting, parted

Floats = NDArray[np.float64]
SHORT = 0.9  # a run that reached less than this part of its group's longest is not counted
TAIL = 0.05  # the end of a curve, and at least ENOUGH of its points
ENOUGH = 3
POINTS = 200  # of a chart, and of the curves in which a parting is looked for


@dataclass(frozen=True, slots=True)
class Curve:
    """A group in one metric: one number for each point of x; NaN: not all its runs are there."""

    centre: Floats
    low: Floats
    high: Floats
    ends: Floats  # the end of each run that counts
    draws: Floats  # centres with the runs drawn again; one row with one run


@dataclass(frozen=True, slots=True)
class Gap:
    """B minus A."""

    centre: Floats
    low: Floats
    high: Floats


def meanings(run: Run) -> dict[str, Meaning]:
    return run.remember("meanings", lambda: stored_meanings(run))


def values_of(run: Run, names: Sequence[str], clock: Clock, grid: Grid) -> Floats:
    """Names by points, in our units; NaN where the run has no value."""
    known = meanings(run)
    held = [(row, known[name]) for row, name in enumerate(names) if name in known]
    values = np.full((len(names), grid.count), np.nan)
    columns = buckets(run, [meaning.logged for _, meaning in held], clock, grid, 0, lambda: False)
    if columns is not None:
        scales = np.array([meaning.scale for _, meaning in held])
        values[[row for row, _ in held]] = columns["mean"] / scales[:, None]
    values[~np.isfinite(values)] = np.nan
    return values if clock == "step" else np.apply_along_axis(_joined, 1, values)


def _joined(row: Floats) -> Floats:
    """The row without gaps between its first and its last value.

    Runs log at the same steps, and at other times and tokens: there a line stands for them.
    """
    known = np.flatnonzero(np.isfinite(row))
    if len(known) < 2:
        return row
    between = np.interp(np.arange(len(row)), known, row[known])
    between[: known[0]] = between[known[-1] + 1 :] = np.nan
    return between


def counting(last_steps: Sequence[int]) -> NDArray[np.bool_]:
    """Which runs of a group count: those that came about as far as the longest."""
    last = np.asarray(last_steps, np.float64)
    return np.asarray(last >= SHORT * last.max(initial=0))


def curve(values: Floats, counts: NDArray[np.bool_], robust: bool = False) -> Curve:
    """The curve of one group: `values` are runs by points, `counts` says which runs count.

    A run without any value of the metric counts as little as one that stopped early.
    """
    counted = values[counts & np.isfinite(values).any(axis=1)]
    middle = np.full(values.shape[1], np.nan)
    low, high = middle.copy(), middle.copy()
    there = np.isfinite(counted).all(axis=0) & bool(len(counted))
    draws = np.full((1, len(middle)), np.nan)
    if there.any():
        middle[there] = seeds.centre(counted[:, there], robust)
        draws = np.full((seeds.CURVE_DRAWS if len(counted) > 1 else 1, len(middle)), np.nan)
        draws[:, there] = seeds.drawn_centres(counted[:, there], robust, len(draws))
    if len(draws) > 1:
        low[there], high[there] = seeds.band(draws[:, there])
    return Curve(middle, low, high, np.array([end(one) for one in counted]), draws)


def end(values: Floats) -> float:
    """The mean of the end of a curve; NaN if it has none."""
    known = values[np.isfinite(values)]
    return float(known[-max(ENOUGH, int(TAIL * len(known))) :].mean()) if len(known) else math.nan


def gap(a: Curve, b: Curve) -> Gap:
    """The difference at each point; its band stands on the seeds of both."""
    centre = b.centre - a.centre
    if len(a.draws) < 2 or len(b.draws) < 2:
        nan = np.full(len(centre), np.nan)
        return Gap(centre, nan, nan)
    return Gap(centre, *seeds.band(b.draws[::-1] - a.draws))


def parting(name: str, x: Floats, a: Curve, b: Curve) -> Parting:
    """Where two groups part in a metric: by the noise of the difference, and by their seeds."""
    between = gap(a, b)
    both = np.isfinite(between.centre)
    sure = None if np.isnan(between.low[both]).any() else (between.low[both] > 0) | (between.high[both] < 0)
    index, distance = parted(a.centre[both], b.centre[both], sure)
    step = None if index is None else round(float(x[both][index]))
    return Parting(name, (end(a.centre), end(b.centre)), step, distance, int(both.sum()))


def noise_of_seeds(curves: Sequence[Curve]) -> Noise:
    """How far the ends of one configuration's runs are apart by chance."""
    return noise([one.ends[np.isfinite(one.ends)] for one in curves])
