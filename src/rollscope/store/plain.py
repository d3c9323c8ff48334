"""Columns as plain Python for JSON, where NaN and the infinities have no number: they are the words "NaN", "Infinity" and "-Infinity"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any, halves: bool = False) -> Any:
    """The value with nothing in it that strict JSON lacks. NaN stays a NaN that was logged; what is not there is None.

    A half of a character becomes a question mark, unless `halves` are wanted by a writer that can escape them.
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), halves)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {plain(str(key), halves): plain(item, halves) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, halves) for item in value]
    if isinstance(value, str) and not halves and any("\ud800" <= c <= "\udfff" for c in value):
        return value.encode("utf-8", "replace").decode()
    return value
