"""A series in a few numbers: where it opened, where it is now, its noise, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.views.no_value import logged_nan

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OPENING = 20  # most points whose mean is a run's opening, and its present
ENOUGH = 12  # points below which an opening and a present would say nothing
SIGMAS = 3.0  # standard errors beyond which two means differ
COARSE = 0.25  # share of the opening; noise that hides more than this leaves nothing to say
SETTLED = 3.0  # times by which the points of an opening may differ
LEAST = 0.05  # share of the opening below which a change is not worth a word
BEHIND = 3.0  # usual distances between two points after which a series has stopped
ROUNDING = 1e-12  # share of a number below which a difference is how it was added up
FEW_STEPS = 4  # a series may lag the newest step by so many steps


@dataclass(frozen=True, slots=True)
class Points:
    """The logged points of a series, and the last step of the run it belongs to."""

    step: Ints
    value: Floats
    last_step: int

    @property
    def finite(self) -> Floats:
        return self.value[np.isfinite(self.value)]

    @property
    def not_numbers(self) -> int:
        """How many of the newest values are NaN or infinite, one after another."""
        finite = np.isfinite(self.value)
        return int(np.argmax(finite[::-1])) if finite.any() else len(self.value)

    @property
    def stopped(self) -> bool:
        """Is the newest point far behind the run's last step, by the series' own distances?"""
        if len(self.step) < 2:
            return False
        usual = float(np.max(np.diff(self.step)))
        return self.last_step - int(self.step[-1]) > max(FEW_STEPS, BEHIND * usual)


def points_of(run: Run, name: str, scale: float = 1.0, env: str = "") -> Points:
    """The points of a logged name in our unit, without those where nothing was counted.

    With `env`, they are those of an environment; a name that has none of it is that of the run.
    """
    columns = run.remember(f"series {name}", lambda: run.series(name))
    own = run.remember(f"series {name} of {env}", lambda: run.series(name, env=env)) if env else columns
    columns = own if len(own["step"]) else columns
    step, value = np.asarray(columns["step"], np.int64), np.asarray(columns["value"], np.float64)
    nan = np.isnan(value)
    if nan.any():
        said = ~nan | logged_nan(name, _kind(run, name), value, np.asarray(columns["weight"], np.float64))
        step, value = step[said], value[said]
    return Points(step, value / scale, run.step_range[1])


def _kind(run: Run, name: str) -> str:
    kinds: dict[str, str] = run.remember("kinds", lambda: _kinds(run.metrics()))
    return kinds.get(name, "")


def _kinds(metrics: Columns) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in zip(metrics["name"], metrics["kind"], strict=True)}


@dataclass(frozen=True, slots=True)
class Trend:
    """The means of the first and last `width` finite points, and the noise of a single point.

    `noise` is the larger of the opening's and the present's; `spread` is the opening's own. An
    opening is settled if none of its points is more than three times another.
    """

    opening: float
    now: float
    noise: float
    width: int = 1
    spread: float = 0.0
    settled: bool = True
    level: float = math.nan  # the median of the last points, which one spike does not move

    @classmethod
    def of(cls, value: Floats) -> Trend | None:
        """The trend of the finite values; None if there is none."""
        value = value[np.isfinite(value)]
        if not len(value):
            return None
        width = max(1, min(OPENING, len(value) // 4))
        first, last = value[:width], value[-width:]
        spread, present = _deviation(value[: 2 * width]), _deviation(value[-2 * width :])
        settled = bool(np.max(np.abs(first)) <= SETTLED * np.min(np.abs(first)))
        means = float(np.mean(first)), float(np.mean(last))
        return cls(*means, max(spread, present), width, spread, settled, float(np.median(last)))

    @property
    def known(self) -> bool:
        """Are there enough points for an opening to be a reference?"""
        return 4 * self.width >= ENOUGH

    @property
    def error(self) -> float:
        """The standard error of a mean of `width` points."""
        return self.noise / math.sqrt(self.width)

    @property
    def moved(self) -> bool:
        """Did it move further than noise explains, and by more than a twentieth of the opening?"""
        return abs(self.now - self.opening) > max(self.resolution, LEAST * abs(self.opening))

    @property
    def resolution(self) -> float:
        """The smallest change that would stand out from the noise."""
        return SIGMAS * math.sqrt(2) * self.error

    @property
    def steady(self) -> bool:
        """Did it not move, and would a change by a quarter have been seen?"""
        return not self.moved and self.resolution <= max(COARSE * abs(self.opening), LEAST)

    @property
    def rose(self) -> bool:
        return self.moved and self.now > self.opening

    @property
    def fell(self) -> bool:
        return self.moved and self.now < self.opening


def _deviation(value: Floats) -> float:
    """The deviation of a point, from differences of neighbours: a trend is no noise."""
    found = float(np.std(np.diff(value)) / math.sqrt(2)) if len(value) > 2 else 0.0
    return found if found > ROUNDING * float(np.max(np.abs(value))) else 0.0
