"""The status of one series, and what it was held against.

Worst first: an open finding, values that are no numbers, a series that stopped, an alarm of the
catalogue, a range. Only then can a status be good, and only against a reference with enough points:
an alarm that was judged, a range, or the run's own opening.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rollscope.catalog.spec import Alarm, Metric

from .alarms import alarms_of, clears, in_words, is_beyond, level, rings
from .claim import Claim, when
from .reference import Judgement, Kind, Status, judgement, unjudged, worst
from .sentence import movement, opening_words, range_words, say
from .trend import ENOUGH, Points, Trend

FAR = 3.0  # times the opening, up or down, that a quantity without alarms may move before it is watched
KEEPS = ("perf", "time", "engine")  # sections in which standing still is good
Range = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """A series to judge: its points in our unit, its entry, and the ranges it was given."""

    points: Points
    entry: Metric | None
    stat: str = ""
    unit: str = ""
    declared: Range = (None, None)
    healthy: Range = (None, None)


def status(series: Series, concerns: Sequence[Claim] = ()) -> Judgement:
    """The worst that can be said of a series; if nothing bad can, whether good is earned."""
    trend = Trend.of(series.points.value)
    complaints = [*_findings(concerns), *_record(series.points)]
    if trend is not None and not complaints:
        complaints = [*_alarms(series, trend), *_ranges(series, trend)]
    if complaints:
        return worst(complaints)
    return _unharmed(series, trend)


# ---- what is wrong


def _findings(concerns: Sequence[Claim]) -> Iterator[Judgement]:
    for concern in concerns:
        if concern.severity in ("bad", "watch") and concern.until is None:
            severity: Status = "bad" if concern.severity == "bad" else "watch"
            yield judgement(severity, concern.evidence, "finding", f"{concern.claim} {when(concern)}")


def _record(points: Points) -> Iterator[Judgement]:
    """Values that are no numbers, and a series that stopped."""
    if points.not_numbers:
        first = int(points.step[-points.not_numbers])
        word = "NaN" if np.isnan(points.value[-1]) else "Infinite"
        since = f"{word} since step {first:,}" if points.not_numbers > 1 else f"{word} at step {first:,}"
        yield judgement("bad", f"{since}.", "record", _last_number(points))
    if points.stopped:
        last = int(points.step[-1])
        yield judgement(
            *("watch", f"Nothing logged since step {last:,}.", "record"),
            f"the run went on to step {points.last_step:,}",
            float(last),
        )


def _last_number(points: Points) -> str:
    finite = np.flatnonzero(np.isfinite(points.value))
    if not len(finite):
        return "never a number"
    return f"last a number at step {int(points.step[finite[-1]]):,}: {say(float(points.value[finite[-1]]))}"


def _alarms(series: Series, trend: Trend) -> Iterator[Judgement]:
    for alarm in alarms_of(series.entry, series.stat):
        if rings(alarm, trend):
            reading = _says(alarm, series, trend)
            yield judgement(alarm.severity, reading, "alarm", in_words(alarm, trend, series.unit), level(alarm, trend))


def _says(alarm: Alarm, series: Series, trend: Trend) -> str:
    """What an alarm says, at which number: the median, and how the mean moved if it did."""
    claim = f"{alarm.says[:1].upper()}{alarm.says[1:]}"
    at = f"{series.stat} " if alarm.stat else ""  # a spread of 0 is no reward of 0
    number = say(trend.level, series.unit)
    if not (trend.known and trend.moved):
        return f"{claim}, at {at}{number}."
    moved = movement(trend, series.unit)
    return f"{claim}, at {at or 'a median of '}{number}. In the mean, {moved[:1].lower()}{moved[1:]}"


def _ranges(series: Series, trend: Trend) -> Iterator[Judgement]:
    for kind, limits in _limits(series):
        if not _inside(trend.level, limits):
            words = f"{kind} {range_words(*limits, series.unit)}"
            reading = f"{say(trend.level, series.unit)} lies outside what is {words}."
            yield judgement("watch", reading, kind, words, _end(limits))


def _limits(series: Series) -> list[tuple[Kind, Range]]:
    """The ranges the series was given, the declared one first."""
    every: list[tuple[Kind, Range]] = [("declared", series.declared), ("healthy", series.healthy)]
    return [(kind, limits) for kind, limits in every if limits != (None, None)]


def _inside(value: float, limits: Range) -> bool:
    low, high = limits
    return (low is None or value >= low) and (high is None or value <= high)


def _end(limits: Range) -> float | None:
    return limits[1] if limits[1] is not None else limits[0]


# ---- what is not


def _unharmed(series: Series, trend: Trend | None) -> Judgement:
    count = len(series.points.finite)
    if trend is None or count < ENOUGH:
        return unjudged(_few(count), f"too few points for a reference, {count} of {ENOUGH}")
    reading, newest = movement(trend, series.unit), float(series.points.finite[-1])
    judged = [alarm for alarm in alarms_of(series.entry, series.stat) if clears(alarm, trend)]
    if judged and not _is_aim(series):
        strictest, crossed = judged[-1], any(is_beyond(alarm, trend, newest) for alarm in judged)
        earned: Status = "none" if crossed else "good"  # one spike is no alarm, and not good either
        return judgement(earned, reading, "alarm", in_words(strictest, trend, series.unit), level(strictest, trend))
    for kind, limits in [] if _is_aim(series) else _limits(series):
        words = f"{kind} {range_words(*limits, series.unit)}"
        return judgement("good" if _inside(newest, limits) else "none", reading, kind, words, _end(limits))
    return judgement(_by_opening(series, trend), reading, "opening", opening_words(trend, series.unit), trend.opening)


def _few(count: int) -> str:
    return "Nothing logged yet." if not count else "One point so far." if count == 1 else f"{count} points so far."


def _is_aim(series: Series) -> bool:
    """Is it what a run is for: a reward to raise, a loss to lower? Inside a range is not enough."""
    entry = series.entry
    if entry is None or series.stat not in ("", "mean") or series.healthy != (None, None):
        return False
    return (entry.good == "up" and not _keeps(series)) or (entry.good == "down" and "loss" in entry.name)


def _keeps(series: Series) -> bool:
    return series.entry is not None and series.entry.section in KEEPS


def _by_opening(series: Series, trend: Trend) -> Status:
    good = series.entry.good if series.entry and series.stat in ("", "mean") else "context"
    if good in ("up", "down"):
        better, worse = (trend.rose, trend.fell) if good == "up" else (trend.fell, trend.rose)
        return "watch" if worse else "good" if better or (_keeps(series) and trend.steady) else "none"
    if good in ("near one", "near zero") or series.entry is None:
        return "none"
    if not trend.moved or not trend.settled:
        return "good" if trend.steady and trend.settled else "none"
    times = abs(trend.now / trend.opening) if trend.opening else np.inf
    return "watch" if good == "steady" and not 1 / FAR <= times <= FAR else "none"
