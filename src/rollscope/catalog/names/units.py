"""The unit of a number: the entry's, or a framework's if it writes another scale."""

from __future__ import annotations

from .match import Match

SCALED = {  # our unit and their scale -> their unit
    ("share", 100.0): "%",
    ("s", 1000.0): "ms",
    ("s/token", 1000.0): "ms/token",
    ("1", 1000.0): "1e-3",
    ("nats/token", -1.0): "nats/token",  # a log-probability, or a divergence the other way round
}


def unit_of(match: Match | None) -> str:
    """The unit in which the name that was looked up is written; empty if it is not known."""
    if match is None or match.stat == "gini":
        return ""
    return scaled(match.entry.unit, match.via.scale if match.via else 1.0)


def scaled(unit: str, scale: float) -> str:
    """The unit of numbers that are `scale` times those in our unit.

    >>> scaled("share", 100), scaled("s", 1000), scaled("tokens", 1), scaled("GiB", 1024)
    ('%', 'ms', 'tokens', 'GiB/1024')
    """
    return unit if scale == 1 else SCALED.get((unit, scale), f"{unit}/{scale:g}")
