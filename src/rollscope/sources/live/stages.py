"""Spans of a step that just ended, of which a framework says only how long each stage took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollscope.sources.intake.gather import number

from .values import scalar

PLACED = "from durations, in the order of the stages"


def stages(seconds: Mapping[str, Any], now: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of the whole step and of each stage, in their order."""
    values = {name: number(scalar(value)) for name, value in seconds.items()}
    known = {name: round(value * 1e9) for name, value in values.items() if value is not None}
    start = at = now - sum(known.values())
    if known:
        yield "step", start, now
    for name, length in known.items():
        yield name, at, at + length
        at += length
