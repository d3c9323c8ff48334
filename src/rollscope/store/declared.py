"""What a run declared about itself, as far as it can be used.

`run.json` and the rows of the runs table may hold anything. A range that is no pair of numbers
costs itself alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NUMBERS = ("reward_min", "reward_max")
RANGES = ("ranges", "metrics_ranges")
ENVIRONMENTS = ("environments", "envs")


def usable(declared: Any) -> dict[str, Any]:
    """Declared numbers, ranges and environments of the right shape, and every other fact."""
    if not isinstance(declared, Mapping):
        return {}
    kept = {name: _usable(name, value) for name, value in declared.items()}
    return {name: value for name, value in kept.items() if value is not None}


def _usable(name: str, value: Any) -> Any:
    """The value of a fact; None if it has another shape than its name asks for."""
    if name in NUMBERS:
        return value if _is_number(value) else None
    if name in RANGES:
        return {key: pair for key, pair in value.items() if _is_pair(pair)} if isinstance(value, Mapping) else None
    if name in ENVIRONMENTS:
        return {env: usable(facts) for env, facts in value.items()} if isinstance(value, Mapping) else None
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1023


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))
