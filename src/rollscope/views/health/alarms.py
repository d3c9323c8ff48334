"""The catalogue's alarms, held against a series."""

from __future__ import annotations

from rollscope.catalog.spec import Alarm, Metric

from .sentence import say
from .trend import Trend


def alarms_of(entry: Metric | None, stat: str) -> list[Alarm]:
    """The alarms that are about this statistic, worst first."""
    alarms = [alarm for alarm in entry.alarms if alarm.stat in ("", stat)] if entry else []
    return sorted(alarms, key=lambda alarm: alarm.severity != "bad")


def is_relative(alarm: Alarm) -> bool:
    return alarm.when.endswith("times opening")


def applies(alarm: Alarm, trend: Trend) -> bool:
    """Can the alarm be judged? One that compares with the opening needs one, above zero."""
    return not is_relative(alarm) or (trend.known and trend.opening > 0)


def clears(alarm: Alarm, trend: Trend) -> bool:
    """Can its silence be a reference? One that compares with the opening needs a settled one."""
    return applies(alarm, trend) and (trend.settled or not is_relative(alarm))


def rings(alarm: Alarm, trend: Trend) -> bool:
    return is_beyond(alarm, trend, trend.level)


def is_beyond(alarm: Alarm, trend: Trend, now: float) -> bool:
    """Is a value where the alarm rings?"""
    if not applies(alarm, trend):
        return False
    if isinstance(alarm.level, tuple):
        return not alarm.level[0] <= now <= alarm.level[1]
    level = alarm.level * trend.opening if is_relative(alarm) else alarm.level
    return now > level if alarm.when.startswith("above") else now < level


def in_words(alarm: Alarm, trend: Trend, unit: str) -> str:
    """The threshold with its number: `alarm above 0.5`, `alarm below 0.1 x its opening, 0.69`."""
    side = alarm.when.partition(" ")[0]
    if isinstance(alarm.level, tuple):
        low, high = (say(level, unit) for level in alarm.level)
        return f"against the catalogue, alarm outside {low} to {high}"
    if is_relative(alarm):
        return f"against its opening, {say(trend.opening, unit)}; alarm {side} {alarm.level:g} times that"
    return f"against the catalogue, alarm {side} {say(alarm.level, unit)}"


def level(alarm: Alarm, trend: Trend) -> float:
    """The number of the threshold; of a range, the end that is nearer to the present value."""
    if isinstance(alarm.level, tuple):
        return float(min(alarm.level, key=lambda end: abs(end - trend.level)))
    return float(alarm.level * trend.opening if is_relative(alarm) else alarm.level)
