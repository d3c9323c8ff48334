"""One sentence under a vital sign: what the number did, against what it should do. Words where words are shorter than charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.catalog.spec import Alarm, Metric

Floats = NDArray[np.float64]
OPENING = 20  # steps that say where a run began
SHARES = ("share", "fraction")


def say(value: float, unit: str = "") -> str:
    """A number as it stands in a sentence."""
    if unit in SHARES:
        percent = value * 100
        return f"{percent:.1f} %".replace(".0 %", " %") if abs(percent) < 10 else f"{percent:.0f} %"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-3:
        mantissa, power = f"{value:.1e}".split("e")
        return ("−" if value < 0 else "") + f"{abs(float(mantissa)):g}e{int(power)}"
    if size >= 1000:
        for step, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
            if size >= step:
                return f"{value / step:.3g}{letter}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Trend:
    """A series in three numbers: means of its first and last points, `width` of each, and how far one point usually is from the next."""

    opening: float
    now: float
    noise: float
    width: int = 1

    @classmethod
    def of(cls, value: Floats) -> Trend | None:
        value = value[np.isfinite(value)]
        if len(value) < 2:
            return None
        width = max(1, min(OPENING, len(value) // 4))
        steps = np.abs(np.diff(value))
        return cls(
            float(np.mean(value[:width])),
            float(np.mean(value[-width:])),
            float(np.median(steps)) if len(steps) else 0.0,
            width,
        )

    @property
    def moved(self) -> bool:
        """Further than two means of so many noisy points differ by chance, and more than a twentieth of the number."""
        return abs(self.now - self.opening) > max(3 * self.noise / math.sqrt(self.width), 0.05 * abs(self.opening))


def reading(value: Floats, entry: Metric | None, unit: str, stat: str = "") -> str:
    trend = Trend.of(value)
    if trend is None:
        return "One point so far." if np.isfinite(value).any() else "Nothing logged yet."
    return " ".join(part for part in (_movement(trend, unit), _healthy(entry, unit, stat)) if part)


def evaluation(columns: Any) -> str:
    """Of an evaluation what matters is the best so far, and how long ago it was."""
    value = np.asarray(columns["value"], np.float64)
    known = np.flatnonzero(np.isfinite(value))
    if not len(known):
        return "Nothing scored yet."
    best, last = int(known[np.argmax(value[known])]), int(known[-1])
    if best == last:
        return "The newest is the best so far." if len(known) > 1 else "One evaluation so far."
    below = int((known > best).sum())
    since = f"{below} evaluations in a row" if below > 1 else "The newest"
    return f"{since} below the best, {say(float(value[best]))} at step {int(columns['step'][best]):,}."


def _movement(trend: Trend, unit: str) -> str:
    if not trend.moved:
        return f"Steady since it opened at {say(trend.opening, unit)}."
    if trend.opening > 0 and trend.now > 0 and unit not in SHARES:
        times = trend.now / trend.opening
        if times >= 1.5:
            return f"{say(times)} times where it opened ({say(trend.opening, unit)})."
        if times <= 1 / 1.5:
            return f"{_part(times)} of where it opened ({say(trend.opening, unit)})."
    word = "Up" if trend.now > trend.opening else "Down"
    return f"{word} from {say(trend.opening, unit)} to {say(trend.now, unit)}."


def _part(times: float) -> str:
    words = {2: "Half", 3: "A third", 4: "A quarter", 5: "A fifth", 10: "A tenth", 20: "A twentieth"}
    nearest = min(words, key=lambda n: abs(math.log(times * n)))
    return words[nearest] if abs(math.log(times * nearest)) < 0.2 else f"{times * 100:.2g} %"


def _healthy(entry: Metric | None, unit: str, stat: str) -> str:
    if entry is None or stat not in ("", "mean"):
        return ""
    low, high = entry.healthy
    if low is not None and high is not None:
        return f"Healthy: {say(low, unit)} to {say(high, unit)}."
    if high is not None:
        return f"Healthy: below {say(high, unit)}."
    return f"Healthy: above {say(low, unit)}." if low is not None else ""


def status(value: Floats, entry: Metric | None, stat: str, found: Sequence[Any]) -> str:
    """bad or watch as a finding or an alarm says; good where there is something to hold it against; else nothing is claimed."""
    for severity in ("bad", "watch"):
        if any(f["severity"] == severity and f["until"] is None for f in found):
            return severity
    trend = Trend.of(value)
    if entry is None or trend is None:
        return "none"
    rung = [a.severity for a in entry.alarms if a.stat in ("", stat) and rings(a, trend)]
    if rung:
        return "bad" if "bad" in rung else "watch"
    low, high = entry.healthy
    if stat in ("", "mean") and ((low is not None and trend.now < low) or (high is not None and trend.now > high)):
        return "watch"
    return "good"


def rings(alarm: Alarm, trend: Trend) -> bool:
    now = trend.now
    if isinstance(alarm.level, tuple):
        return not alarm.level[0] <= now <= alarm.level[1]
    if alarm.when.endswith("times opening"):
        level = alarm.level * trend.opening
        return trend.opening > 0 and (now > level if alarm.when.startswith("above") else now < level)
    return now > alarm.level if alarm.when == "above" else now < alarm.level
