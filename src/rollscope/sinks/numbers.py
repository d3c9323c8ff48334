"""What every sink does with a metrics row: partials become numbers, and names go through a dialect.

No data is told apart from NaN. In a dialect, a metric is written under the framework's key if that
key means the same number. A name that the catalogue does not know (a user's own) stays as it is. A
metric that the framework has no key for goes only to the store.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rollscope import strict_json
from rollscope.catalog.names.rename import rename
from rollscope.catalog.partials.partial import Partial

Number = float | int | None  # None: no data, which is neither 0 nor NaN

UNKNOWN = "not a name of the catalogue"  # the reason that `rename` gives for a user's own name


def number(value: Any) -> Number:
    """A logged value as a number; None for a partial without data."""
    if isinstance(value, Partial):
        return None if math.isnan(value.value) and not value.weight else value.value
    return value if isinstance(value, int | float) else None if value is None else float(value)


def numbers(data: Mapping[str, Any], dialect: str | None = None) -> dict[str, Number]:
    """`{name: number}` in the given dialect. An int stays an int, so that it is written exactly."""
    plain = {name: number(value) for name, value in data.items()}
    if dialect is None:
        return plain
    floats = {name: math.nan if value is None else value for name, value in plain.items()}
    renamed, left_out = rename(floats, dialect, missing=True)
    empty = {name: math.nan for name, value in plain.items() if value is None}
    empty_keys = set(rename(empty, dialect)) if empty else set()
    own = {name: value for name, value in plain.items() if left_out.get(name) == UNKNOWN}
    return {
        **{key: None if key in empty_keys and math.isnan(value) else value for key, value in renamed.items()},
        **own,
    }


def present(data: Mapping[str, Any], dialect: str | None = None) -> dict[str, float | int]:
    """The same without the names that have no data, for libraries that cannot express no data."""
    return {name: value for name, value in numbers(data, dialect).items() if value is not None}


def speakable(value: Any, surrogates: bool = False) -> Any:
    """The value as strict JSON has it, see `strict_json.plain`. A partial becomes its number."""
    if isinstance(value, Partial):
        return strict_json.number(number(value))
    if isinstance(value, Mapping):
        return {strict_json.plain(str(key), surrogates): speakable(inner, surrogates) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [speakable(inner, surrogates) for inner in value]
    return strict_json.plain(value, surrogates)
