"""Values of the store as JSON: a missing value is null.

The store reads back NaN or None for a number that was never given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope import strict_json
from rollscope.strict_json import Number


def missing(value: Any) -> bool:
    return value is None or value != value


def integer(value: Any) -> int | None:
    return None if missing(value) else int(value)


def number(value: Any) -> Number:
    """A float, or a word for an infinity; None if it is missing."""
    return None if missing(value) else strict_json.number(value)


def finite(column: Any) -> list[float | None]:
    """A column of floats; None where a value is NaN or infinite."""
    values = np.asarray(column, np.float64)
    return [value if value == value else None for value in np.where(np.isfinite(values), values, np.nan).tolist()]


def cell(value: Any) -> Any:
    """A cell of a table as JSON values; a missing number is None, lone surrogates stay."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float) and value != value else strict_json.plain(value, surrogates=True)
