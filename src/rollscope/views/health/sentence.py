"""Sentences about a series: how the number moved since the run opened."""

from __future__ import annotations

import math

from .trend import Trend

SHARES = ("share", "fraction")  # units written as per cent
MAGNITUDES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
PARTS = {2: "Half", 3: "A third", 4: "A quarter", 5: "A fifth", 10: "A tenth", 20: "A twentieth"}


def say(value: float, unit: str = "") -> str:
    """A number as it is written in a sentence."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("infinity" if value > 0 else "−infinity")
    if unit in SHARES:
        return _percent(value)
    if value == 0:
        return "0"
    if abs(value) < 1e-3 or abs(value) >= 1e15:
        mantissa, power = f"{value:.1e}".split("e")
        return ("−" if value < 0 else "") + f"{abs(float(mantissa)):g}e{int(power)}"
    step, letter = next(((step, letter) for step, letter in MAGNITUDES if abs(value) >= step), (1.0, ""))
    return f"{value / step:.3g}{letter}".replace("-", "−")


def _percent(value: float) -> str:
    percent = value * 100
    text = f"{percent:.1f} %".replace(".0 %", " %") if abs(percent) < 10 else f"{percent:.0f} %"
    return text.replace("-", "−")


def steps_words(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def opening_words(trend: Trend, unit: str) -> str:
    """The opening with its noise: `against its opening, 0.69 ± 0.03`."""
    return f"against its opening, {say(trend.opening, unit)} ± {say(trend.spread, unit)}"


def movement(trend: Trend, unit: str) -> str:
    """How the level moved since the opening."""
    opening = say(trend.opening, unit)
    if not trend.moved and not trend.steady:
        return f"Too noisy to say: {say(trend.now, unit)} ± {say(trend.noise, unit)}, opened at {opening}."
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


def range_words(low: float | None, high: float | None, unit: str) -> str:
    """A range that may be open at one end: `0 to 2`, `below 0.2`, `above 0.9`."""
    if low is not None and high is not None:
        return f"{say(low, unit)} to {say(high, unit)}"
    return f"below {say(high, unit)}" if high is not None else f"above {say(low or 0.0, unit)}"


def duration(seconds: float | None) -> str:
    """A duration in one or two units: `18 s`, `4 min`, `2 h 14 min`."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 90:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
