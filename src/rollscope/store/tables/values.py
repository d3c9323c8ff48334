"""Values of an Arrow column as Python's, where Python has them, and as text where it has not.

Python's dates end with the year 9999, and those of DuckDB do not. Arrow would raise for a whole
column that holds one such date; here it costs its own cell.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

FAILURES = (ValueError, OverflowError, TypeError, NotImplementedError, LookupError, ImportError, pa.ArrowException)


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column. One that Python cannot hold is a text."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except FAILURES:
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    """A value in Python; else its text in Arrow's words; else, of a nested one, its parts so."""
    try:
        return scalar.as_py()
    except FAILURES:
        pass
    if isinstance(scalar, pa.StructScalar):
        return {name: _value(part) for name, part in scalar.items()}
    if isinstance(scalar, pa.ListScalar):  # maps are lists of pairs
        return [_value(part) for part in scalar.values]
    try:
        return str(scalar.cast(pa.string()).as_py())
    except FAILURES:
        return f"a {scalar.type} that cannot be shown"
