"""The clocks of every step: its times, and the tokens, samples and so on seen by then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.numbers import fold

from . import tables

INTEGERS = ("end_ns", "attempt")
READINGS = ("explore_step", "env_steps", "tokens", "samples", "epoch", "policy_version")


def steps(folder: Folder) -> dict[str, NDArray[Any]]:
    """One row per step: over all writers the first time, the last end, the highest reading.

    Arrow's own grouping would import pandas, where it is installed.
    """
    rows = tables.alive(folder, fold.join(folder.tables("steps"), arrow.schema(arrow.fields("steps"))))
    rows = rows.filter(rows["step"].is_valid())
    step, of = np.unique(arrow.numbers(rows["step"]), return_inverse=True)
    found = {"step": step, "time_ns": -_highest(rows["time_ns"], of, len(step), -1, np.int64(1))}
    found |= {name: _highest(rows[name], of, len(step), 1, np.int64(-1)) for name in INTEGERS}
    return found | {name: _highest(rows[name], of, len(step), 1, np.float64(np.nan)) for name in READINGS}


def _highest(
    column: pa.ChunkedArray, of: NDArray[Any], steps: int, sign: int, nothing: np.int64 | np.float64
) -> NDArray[Any]:
    """The highest value of each step, of numbers times `sign`; `nothing` where all are null."""
    given = ~arrow.missing(column)
    numbers = sign * arrow.numbers(column)[given].astype(nothing.dtype)
    order = np.lexsort((numbers, of[given]))  # NaN, which is no reading, comes after all numbers
    order = order[~np.isnan(numbers[order])]
    out = np.full(steps, nothing)
    out[of[given][order]] = numbers[order]  # of equal steps the last assignment stays
    return out
