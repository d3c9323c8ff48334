"""What every sink does with a metrics row: partials become numbers, no data is told apart from NaN, names go through a dialect.

In a dialect, a metric is written under the framework's key where it is the same number; a name the catalogue does not know (a
user's own) keeps its name; a metric the framework has no word for is left to the store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rollscope import strict_json
from rollscope.catalog.names.rename import rename
from rollscope.catalog.partials.partial import Partial

Number = float | int | None  # None: no data, which is neither 0 nor NaN

UNKNOWN = "not a name of the catalogue"


def number(value: Any) -> Number:
    if isinstance(value, Partial):
        return None if math.isnan(value.value) and not value.weight else value.value
    return value if isinstance(value, int | float) else None if value is None else float(value)


def numbers(data: Mapping[str, Any], dialect: str | None = None) -> dict[str, Number]:
    """`{name: number}` in the given dialect; an int stays an int, so that it is written exactly."""
    plain = {name: number(value) for name, value in data.items()}
    if dialect is None:
        return plain
    said = {name: math.nan if value is None else value for name, value in plain.items()}
    renamed, left_out = rename(said, dialect, missing=True)
    absent = {name for name, value in plain.items() if value is None}
    nothing = set(rename({name: math.nan for name in absent}, dialect)) if absent else set()
    own = {name: value for name, value in plain.items() if left_out.get(name) == UNKNOWN}
    return {
        **{name: None if name in nothing and math.isnan(value) else value for name, value in renamed.items()},
        **own,
    }


def present(data: Mapping[str, Any], dialect: str | None = None) -> dict[str, float | int]:
    """The same, without the names that have no data: for libraries that have no way to say it."""
    return {name: value for name, value in numbers(data, dialect).items() if value is not None}


def speakable(value: Any) -> Any:
    """The value as strict JSON has it; a partial outside a metrics row is its number."""
    if isinstance(value, Partial):
        return strict_json.number(number(value))
    if isinstance(value, Mapping):
        return {str(key): speakable(inner) for key, inner in value.items()}
    return [speakable(inner) for inner in value] if isinstance(value, list | tuple) else strict_json.plain(value)
