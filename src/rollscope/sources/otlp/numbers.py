"""Metrics of OpenTelemetry as numbers of a run. Without a step they are readings of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rollscope.sources.intake.gather import number

from .attributes import STEP, attributes, count, nanoseconds

KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
LONGEST = 200  # characters of the attributes in a name
Reading = tuple[str, int, int | None, float]  # name, time, step, value


def readings(metric: dict[str, Any]) -> Iterator[Reading]:
    """The readings of a metric. Raises ValueError with a sentence for a bad point."""
    kind = next((kind for kind in KINDS if isinstance(metric.get(kind), dict)), None)
    name = metric.get("name")
    if kind is None or not isinstance(name, str) or not name:
        raise ValueError(f"the metric {str(name)[:80]!r} has no points of a known kind: {', '.join(KINDS)}")
    points = metric[kind].get("dataPoints")
    for point in points if isinstance(points, list) else ():
        if not isinstance(point, dict):
            raise ValueError(f"a point of {name[:80]!r} is a {type(point).__name__}, not an object")
        found, time_ns = attributes(point.get("attributes")), nanoseconds(point.get("timeUnixNano"))
        if time_ns is None:
            raise ValueError(f"a point of {name[:80]!r} has no time")
        step = count(found, STEP)
        for part, value in _values(point):
            yield _named(name, part, found), time_ns, step, value


def _values(point: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """A number, or the mean, count and ends of a distribution."""
    plain = number(point.get("asDouble")) if "asDouble" in point else _whole(point.get("asInt"))
    if plain is not None:
        yield "", plain
        return
    entries, total = _whole(point.get("count")), number(point.get("sum"))
    if entries is not None:
        yield "count", entries
        if total is not None and entries:
            yield "mean", total / entries
    for end in ("min", "max"):
        if (value := number(point.get(end))) is not None:
            yield end, value
    listed = point.get("quantileValues")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and (value := number(one.get("value"))) is not None:
            yield f"p{(number(one.get('quantile')) or 0) * 100:02.6g}", value


def _whole(value: Any) -> float | None:
    return float(value) if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 20 else number(value)


def _named(name: str, part: str, found: dict[str, Any]) -> str:
    """The name of a series: attributes that tell series of one metric apart belong to it."""
    apart = ",".join(f"{key}={value}" for key, value in sorted(found.items()) if key not in STEP)
    return f"{name}{f'[{apart[:LONGEST]}]' if apart else ''}{f'/{part}' if part else ''}"
