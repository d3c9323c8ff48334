"""Read `run.json`, which people may have edited by hand or replaced by anything.

Facts of the wrong type are left out, so that one odd value costs itself alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rollscope.store.log.frame import Damage

from . import regular_file
from .schema import TABLES

NAME = "run.json"
MOST_BYTES = 16 << 20
PATIENCE_SECONDS = 0.1  # with an error that may pass; a page waits for the answer
_INT64 = range(-(2**63), 2**63)
_SHAPES: dict[str, type] = {"tags": list, "config": dict, "environment": dict, "declared": dict}
_REWARDS = ("reward_min", "reward_max")
_RANGES = ("ranges", "metrics_ranges")
_ENVIRONMENTS = ("environments", "envs")
_TYPES = {column.name: column.type for column in TABLES["runs"]}


def read(folder: str) -> tuple[dict[str, Any], list[Damage]]:
    """The facts of a run that can be used, and what is wrong with the file.

    A missing file is no damage: the log of a run may be there first.
    """
    path = os.path.join(folder, NAME)
    try:
        facts = regular_file.patiently(lambda: regular_file.read_json(path, MOST_BYTES), PATIENCE_SECONDS)
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        return {}, [_damage(path, f"its run.json cannot be read ({regular_file.why(error, named=False)})")]
    if not isinstance(facts, dict):
        return {}, [_damage(path, f"its run.json holds a {type(facts).__name__}, not a mapping of facts")]
    return {name: value for name, value in facts.items() if fits(name, value)}, []


def fits(name: str, value: Any) -> bool:
    """True if a fact has the type of its column. None fits, and so does a fact without a column."""
    type_ = _TYPES.get(name)
    if value is None or type_ is None:
        return True
    if type_ == "int64":
        return isinstance(value, int) and not isinstance(value, bool) and value in _INT64
    if type_ == "string":
        return isinstance(value, str)
    return isinstance(value, _SHAPES.get(name, object))


def _damage(path: str, says: str) -> Damage:
    return Damage(path, 0, 0, f"{says}, so the run's facts are those that its rows tell")


def usable_ranges(declared: Any) -> dict[str, Any]:
    """What a run declared: numbers, ranges and environments of the right shape, and every other
    fact. A range that is no pair of numbers costs itself alone.
    """
    if not isinstance(declared, Mapping):
        return {}
    kept = {name: _usable(name, value) for name, value in declared.items()}
    return {name: value for name, value in kept.items() if value is not None}


def _usable(name: str, value: Any) -> Any:
    """The value of a fact; None if it has another shape than its name asks for."""
    if name in _REWARDS:
        return value if _is_number(value) else None
    if name in _RANGES:
        return {key: pair for key, pair in value.items() if _is_pair(pair)} if isinstance(value, Mapping) else None
    if name in _ENVIRONMENTS:
        return {env: usable_ranges(facts) for env, facts in value.items()} if isinstance(value, Mapping) else None
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1023


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))
