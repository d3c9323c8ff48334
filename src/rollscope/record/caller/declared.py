"""What a caller declares beforehand, checked: one odd range must not spoil every later batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.errors import nearest
from rollscope.record.loss import ODD, Lose, one_line

from .label import shown, text

RANGES = ("ranges", "metrics_ranges")  # name -> (low, high)
BOUNDS = ("reward_min", "reward_max")
COSTS = ("gpus", "gpu_hour_price")  # of the whole run
WORDS = ("currency",)
KNOWN = ("env", *BOUNDS, *RANGES, *COSTS, *WORDS)


def declared_facts(facts: Mapping[str, Any], lose: Lose) -> dict[str, Any]:
    """The facts of `declare`, without those that have no meaning and those of the wrong shape."""
    kept: dict[str, Any] = {}
    for name, value in facts.items():
        try:
            if name in RANGES:
                kept[name] = _ranges(value, lose)
            elif name in (*BOUNDS, *COSTS):
                kept[name] = _bound(value)
            elif name in WORDS:
                kept[name] = text(value, lose)
            else:
                lose("declarations", f"declare() has no {name!r}.{nearest(name, KNOWN)} It takes {', '.join(KNOWN)}")
        except ODD as error:
            lose("declarations", f"{name} = {shown(value)} is not a {_expected(name)} ({one_line(error)})")
    return kept


def _ranges(ranges: Mapping[Any, Any], lose: Lose) -> dict[str, tuple[float | None, float | None]]:
    kept = {}
    for name, bounds in dict(ranges).items():
        try:
            low, high = bounds
            kept[text(name, lose)] = (_bound(low), _bound(high))
        except ODD as error:
            why = f"the range of {text(name, lose)!r} is {shown(bounds)}, not (low, high) ({one_line(error)})"
            lose("declarations", why)
    return kept


def _bound(value: Any) -> float | None:
    return value if value is None or type(value) in (int, float) else float(value)


def _expected(name: str) -> str:
    return "mapping of names to (low, high)" if name in RANGES else "number"
