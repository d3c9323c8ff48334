"""Where two runs part: each metric of both, where it ended, and from which step on it differs.

Metrics are matched by our names, so runs of different frameworks can be compared. Two series part
at the step from which the mean of their difference over a window stays further from 0 than the
noise of the difference explains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.views.dictionary import Meaning, meanings_of

Floats = NDArray[np.float64]
WINDOWS = 20  # a window is this part of the common steps,
SHORTEST = 5  # and at least so many steps
SIGMAS = 6.0  # of the window's mean; over windows, neighbours and a thousand metrics, 3 would raise false alarms
SHARE = 0.05  # of the range of both series that a difference must exceed


@dataclass(frozen=True, slots=True)
class Parting:
    """A metric of two runs: where it ended in each, and from which step on the two stay apart."""

    metric: str
    last: tuple[float, float]
    step: int | None  # None: they stay together, or there are too few steps to tell
    distance: float  # mean difference after `step` as a share of the range; 0: together; NaN: too few steps
    steps: int  # common steps

    @property
    def says(self) -> str:
        if self.step is not None:
            return f"step {self.step:,}"
        return "together" if self.distance == 0 else "too few steps"


def partings(one: Run, other: Run) -> list[Parting]:
    """Every metric of both runs.

    Those that part come first, the earliest on top; then those that stay together; then those with
    too few common steps.
    """
    runs = (one, other)
    meanings = [meanings_of(run, [str(name) for name in run.metrics()["name"]]) for run in runs]
    names = meanings[0].keys() & meanings[1].keys()
    rows = [_parting(name, runs, (meanings[0][name], meanings[1][name])) for name in names]
    known = [row for row in rows if row is not None]
    return sorted(known, key=lambda p: (p.step is None, math.isnan(p.distance), p.step or 0, -p.distance, p.metric))


def _parting(name: str, runs: tuple[Run, Run], meanings: tuple[Meaning, Meaning]) -> Parting | None:
    series = [_defined(run.series(m.logged), m.scale) for run, m in zip(runs, meanings, strict=True)]
    (steps_a, a), (steps_b, b) = series
    if not len(a) or not len(b):
        return None
    common, at_a, at_b = np.intersect1d(steps_a, steps_b, return_indices=True)
    index, distance = parted(a[at_a], b[at_b])
    step = None if index is None else int(common[index])
    return Parting(name, (float(a[-1]), float(b[-1])), step, distance, len(common))


def _defined(columns: Columns, scale: float) -> tuple[NDArray[np.int64], Floats]:
    value = np.asarray(columns["value"], np.float64) / scale
    known = np.isfinite(value)
    return np.asarray(columns["step"], np.int64)[known], value[known]


def parted(a: Floats, b: Floats, sure: NDArray[np.bool_] | None = None) -> tuple[int | None, float]:
    """The index from which two series stay apart, and how far they are apart after it.

    `sure` says where the seeds of both are apart: a window counts if most of it is. (None, 0) if
    they stay together, (None, NaN) if there are too few steps to tell.
    """
    n = len(a)
    width = max(SHORTEST, n // WINDOWS)
    if n < 2 * width:
        return None, math.nan
    span = float(max(a.max(), b.max()) - min(a.min(), b.min()))
    if span == 0:
        return None, 0.0
    gap = a - b
    means = np.convolve(gap, np.full(width, 1 / width), "valid")  # means[i] is over gap[i : i + width]
    limit = max(SIGMAS * _noise(gap) / np.sqrt(width), SHARE * span)
    apart = (np.abs(means) > limit) & (np.sign(means) == np.sign(means[-1]))
    if sure is not None:
        apart &= np.convolve(sure, np.full(width, 1 / width), "valid") > 0.5
    together = np.flatnonzero(~apart)
    first = int(together[-1]) + 1 if len(together) else 0
    if first > len(means) - width:  # the stretch is too short to be more than a last wiggle
        return None, 0.0
    start = first + int(np.argmax(np.abs(gap[first : first + width]) > limit)) if first else 0
    return start, float(abs(gap[start:].mean()) / span)


def _noise(gap: Floats) -> float:
    """A robust standard deviation from step to step; a slow drift does not count."""
    steps = np.diff(gap)
    return float(1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2))
