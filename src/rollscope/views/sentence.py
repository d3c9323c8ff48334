"""The sentence under a vital sign: how the number moved, and where it should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from rollscope.catalog.spec import Alarm, Metric
from rollscope.store.table_reader import Columns

Floats = NDArray[np.float64]
OPENING = 20  # most points whose mean is a run's opening, and its present
SHARES = ("share", "fraction")  # units written as per cent
MAGNITUDES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
PARTS = {2: "Half", 3: "A third", 4: "A quarter", 5: "A fifth", 10: "A tenth", 20: "A twentieth"}


class Concern(TypedDict):
    """The part of a finding that decides a status."""

    severity: str
    until: int | None


def say(value: float, unit: str = "") -> str:
    """A number as it is written in a sentence."""
    if unit in SHARES:
        percent = value * 100
        return f"{percent:.1f} %".replace(".0 %", " %") if abs(percent) < 10 else f"{percent:.0f} %"
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        mantissa, power = f"{value:.1e}".split("e")
        return ("−" if value < 0 else "") + f"{abs(float(mantissa)):g}e{int(power)}"
    step, letter = next(((step, letter) for step, letter in MAGNITUDES if abs(value) >= step), (1.0, ""))
    return f"{value / step:.3g}{letter}".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Trend:
    """A series in three numbers: the means of its first and last `width` points, and its noise.

    The noise is the median distance between neighbouring points.
    """

    opening: float
    now: float
    noise: float
    width: int = 1

    @classmethod
    def of(cls, value: Floats) -> Trend | None:
        """The trend of the finite values; None for fewer than two."""
        value = value[np.isfinite(value)]
        if len(value) < 2:
            return None
        width = max(1, min(OPENING, len(value) // 4))
        noise = float(np.median(np.abs(np.diff(value))))
        return cls(float(np.mean(value[:width])), float(np.mean(value[-width:])), noise, width)

    @property
    def moved(self) -> bool:
        """Did it move further than noise explains, and by more than a twentieth of the opening?"""
        return abs(self.now - self.opening) > max(3 * self.noise / math.sqrt(self.width), 0.05 * abs(self.opening))


def reading(value: Floats, entry: Metric | None, unit: str, stat: str = "") -> str:
    """How a series moved since it opened, and its healthy range."""
    trend = Trend.of(value)
    if trend is None:
        return "One point so far." if np.isfinite(value).any() else "Nothing logged yet."
    return " ".join(part for part in (_movement(trend, unit), _healthy(entry, unit, stat)) if part)


def evaluation(columns: Columns) -> str:
    """How the newest evaluation compares with the best so far."""
    value = np.asarray(columns["value"], np.float64)
    known = np.flatnonzero(np.isfinite(value))
    if not len(known):
        return "Nothing scored yet."
    best, last = int(known[np.argmax(value[known])]), int(known[-1])
    if best == last:
        return "The newest is the best so far." if len(known) > 1 else "One evaluation so far."
    below = int((known > best).sum())
    since = f"{below} evaluations in a row are" if below > 1 else "The newest is"
    return f"{since} below the best, {say(float(value[best]))} at step {int(columns['step'][best]):,}."


def _movement(trend: Trend, unit: str) -> str:
    opening = say(trend.opening, unit)
    if not trend.moved:
        return f"Steady since it opened at {opening}."
    if trend.opening > 0 and trend.now > 0 and unit not in SHARES:
        times = trend.now / trend.opening
        if times >= 1.5:
            return f"{say(times)} times where it opened ({opening})."
        if times <= 1 / 1.5:
            return f"{_part(times)} of where it opened ({opening})."
    word = "Up" if trend.now > trend.opening else "Down"
    return f"{word} from {opening} to {say(trend.now, unit)}."


def _part(times: float) -> str:
    """A fraction in words, if it is near one that has a word."""
    nearest = min(PARTS, key=lambda n: abs(math.log(times * n)))
    return PARTS[nearest] if abs(math.log(times * nearest)) < 0.2 else f"{times * 100:.2g} %"


def _healthy(entry: Metric | None, unit: str, stat: str) -> str:
    if entry is None or stat not in ("", "mean"):
        return ""
    low, high = entry.healthy
    if low is not None and high is not None:
        return f"Healthy: {say(low, unit)} to {say(high, unit)}."
    if high is not None:
        return f"Healthy: below {say(high, unit)}."
    return f"Healthy: above {say(low, unit)}." if low is not None else ""


def status(value: Floats, entry: Metric | None, stat: str, concerns: Sequence[Concern]) -> str:
    """bad, watch, good or none.

    An open finding decides first, then the entry's alarms, then its healthy range. A series without
    an entry, or with fewer than two points, has no status.
    """
    for severity in ("bad", "watch"):
        if any(concern["severity"] == severity and concern["until"] is None for concern in concerns):
            return severity
    trend = Trend.of(value)
    if entry is None or trend is None:
        return "none"
    ringing = [alarm.severity for alarm in entry.alarms if alarm.stat in ("", stat) and rings(alarm, trend)]
    if ringing:
        return "bad" if "bad" in ringing else "watch"
    return "good" if stat not in ("", "mean") or _is_healthy(entry, trend.now) else "watch"


def _is_healthy(entry: Metric, value: float) -> bool:
    low, high = entry.healthy
    return (low is None or value >= low) and (high is None or value <= high)


def rings(alarm: Alarm, trend: Trend) -> bool:
    now = trend.now
    if isinstance(alarm.level, tuple):
        return not alarm.level[0] <= now <= alarm.level[1]
    if alarm.when.endswith("times opening"):
        level = alarm.level * trend.opening
        return trend.opening > 0 and (now > level if alarm.when.startswith("above") else now < level)
    return now > alarm.level if alarm.when == "above" else now < alarm.level
