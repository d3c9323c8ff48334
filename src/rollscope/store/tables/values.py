"""Values of an Arrow column as Python's, where Python has them, and as text where it has not.

Python's dates end with the year 9999, and those of DuckDB do not. Arrow would raise for a whole
column that holds one such date; here it costs its own cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

INFINITE = {2**63 - 1: "infinity", 1 - 2**63: "-infinity", 2**31 - 1: "infinity", 1 - 2**31: "-infinity"}
FAILURES = (ValueError, OverflowError, TypeError, NotImplementedError, LookupError, ImportError, pa.ArrowException)


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column. One that Python cannot hold is a text."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except FAILURES:
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    """A value in Python, or as text; a nested one has its parts so."""
    try:
        return scalar.as_py()
    except FAILURES:
        pass
    if isinstance(scalar, pa.StructScalar):
        return {name: _value(part) for name, part in scalar.items()}
    if isinstance(scalar, pa.ListScalar):  # maps are lists of pairs
        return [_value(part) for part in scalar.values]
    try:
        if pa.types.is_timestamp(scalar.type) or pa.types.is_date(scalar.type):
            return _date(scalar)
        return str(scalar.cast(pa.string()).as_py())
    except FAILURES:
        return f"a {scalar.type} that cannot be shown"


def _date(scalar: pa.Scalar) -> str:
    """A date of any year. DuckDB's infinite dates are the largest and the smallest number."""
    days = pa.types.is_date32(scalar.type)
    is_infinite = scalar.value in INFINITE and (days or abs(scalar.value) > 2**31)
    unit: Any = "D" if days else getattr(scalar.type, "unit", "ms")
    return INFINITE[scalar.value] if is_infinite else str(np.datetime64(scalar.value, unit))
