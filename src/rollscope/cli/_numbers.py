"""How numbers and durations are printed."""

from __future__ import annotations

import math
import time
from typing import Any

from rollscope.views.health.sentence import say


def number(value: float, missing: str | None = None) -> str:
    """Four significant digits. A value that is not finite prints as `missing`, or as its word."""
    if math.isfinite(value):
        return f"{value:.4g}"
    return say(value) if missing is None else missing


def last_value(value: float | None) -> str:
    """The last value of a metric; None is no data, NaN was logged."""
    return "no data" if value is None else number(float(value))


def signed(value: float) -> str:
    """Four significant digits with a sign; `–` for a value that is not finite."""
    if not math.isfinite(value):
        return "–"
    return f"{value:+.4g}".replace("-", "−") if value else "0"


def took(record: Any) -> str:
    """How long a run took, from its start to its last record; empty if either is unknown."""
    if record["started_ns"] is None or record["ended_ns"] is None:
        return ""
    seconds = (record["ended_ns"] - record["started_ns"]) / 1e9
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def local_time(time_ns: int | None) -> str:
    """A time in the zone of this machine; empty if it is unknown, or beyond any calendar."""
    try:
        return "" if time_ns is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9))
    except (ValueError, OverflowError, OSError):
        return ""
