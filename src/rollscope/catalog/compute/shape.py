"""The shape of a value in a batch: whether it is a single one, and in words for error messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials import ops


def is_single(value: Any) -> bool:
    """Whether it is one value for all samples.

    A list never is. numpy is not asked for its shape, because its rows may differ in length.
    """
    return isinstance(value, str) or (not isinstance(value, (list, tuple)) and np.ndim(value) == 0)


def shape_of(value: Any) -> str:
    """The shape of an array, or `[rows, shortest..longest]` of a list of rows."""
    if hasattr(value, "shape") and not getattr(value, "is_nested", False):
        return str(list(value.shape)) if ops.is_torch(value) else str(list(np.shape(value)))
    try:
        lengths = [len(row) for row in value if np.ndim(row) or hasattr(row, "__len__")]
    except TypeError:
        return type(value).__name__
    if not lengths:
        return str(list(np.shape(value))) if not ops.is_torch(value) else str(list(value.shape))
    low, high = min(lengths), max(lengths)
    return f"[{len(lengths)}, {low}]" if low == high else f"[{len(lengths)}, {low}..{high}]"


def widths_of(widths: np.ndarray[Any, Any]) -> str:
    """The number of samples and of their positions."""
    if not len(widths):
        return "no samples"
    low, high = widths.min(), widths.max()
    return f"{len(widths)} samples of {low if low == high else f'{low}..{high}'} positions"


def excerpt(value: Any) -> str:
    """The first value of a sequence, or the value itself."""
    if not is_single(value) and isinstance(value, (list, tuple, np.ndarray)) and len(value):
        return f"values such as {value[0]!r}"
    return f"{value!r}"
