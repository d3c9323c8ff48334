"""Columns as plain Python for JSON, where NaN and the infinities have no number: they are the words "NaN", "Infinity" and "-Infinity"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The value with nothing in it that strict JSON lacks. NaN stays a NaN that was logged; what is not there is None."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return value.encode("utf-8", "replace").decode()
    return value
