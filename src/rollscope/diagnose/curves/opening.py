"""A series against its own opening: the first 25 points at most, never a moving share of the run.

Levels differ between models, tasks and frameworks; what a run does to its own opening does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .series import FloatArray, Mask, Series
from .window import last_stretch, noise

MOST = 25
LEAST = 8  # points without which there is no opening


@dataclass(frozen=True, slots=True)
class Opening:
    """The level and the noise of the first points."""

    level: float
    noise: float
    points: int

    def above(self, value: float, times: float, sigmas: float = 4.0) -> bool:
        """Is a value above a multiple of the level, by more than noise?"""
        return value > times * self.level and value - self.level > sigmas * self.noise


def opening(series: Series | None) -> Opening | None:
    """The opening of a series: a quarter of it, at least 8 and at most 25 points; None if shorter.

    Few points must not be compared with themselves, so at least as many must follow.
    """
    if series is None or len(series) < 2 * LEAST:
        return None
    points = min(MOST, max(LEAST, len(series) // 4))
    first = series.value[:points]
    return Opening(float(np.median(first)), noise(first), points)


@dataclass(frozen=True, slots=True)
class Stretch:
    """An unbroken stretch of points that satisfy a condition."""

    start: int
    end: int  # of the last point
    holds: bool  # up to the last point of the series

    @property
    def length(self) -> int:
        return self.end - self.start + 1


def holding(mask: Mask, patience: int) -> int | None:
    """Where the condition began that holds to the end, for at least `patience` points."""
    start = last_stretch(mask)
    return start if len(mask) - start >= patience else None


def longest(mask: Mask, patience: int) -> Stretch | None:
    """The stretch that holds to the end if it is long enough, else the longest one that is."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2] - 1
    lengths = ends - starts + 1
    long = np.flatnonzero(lengths >= patience)
    if not len(long):
        return None
    last = len(mask) - 1
    best = long[-1] if ends[long[-1]] == last else long[np.argmax(lengths[long])]
    return Stretch(int(starts[best]), int(ends[best]), bool(ends[best] == last))


def until_of(series: Series, stretch: Stretch) -> int | None:
    """The last step of a stretch; None if it still holds."""
    return None if stretch.holds else int(series.step[stretch.end])


def robust_spread(values: FloatArray) -> float:
    """The median distance from the median, scaled to a standard deviation."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
