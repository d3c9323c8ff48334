"""Read `run.json`, which people may have edited by hand or replaced by anything.

Facts of the wrong type are left out, so that one odd value costs itself alone.
"""

from __future__ import annotations

import os
from typing import Any

from rollscope.store.log.frame import Damage

from . import regular_file
from .schema import TABLES

NAME = "run.json"
MOST_BYTES = 16 << 20
_INT64 = range(-(2**63), 2**63)
_SHAPES: dict[str, type] = {"tags": list, "config": dict, "environment": dict, "declared": dict}
_TYPES = {column.name: column.type for column in TABLES["runs"]}


def read(folder: str) -> tuple[dict[str, Any], list[Damage]]:
    """The facts of a run that can be used, and what is wrong with the file.

    A missing file is no damage: the log of a run may be there first.
    """
    path = os.path.join(folder, NAME)
    try:
        facts = regular_file.read_json(path, MOST_BYTES)
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
