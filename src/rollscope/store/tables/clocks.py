"""The clocks of every step: when it was, and how many tokens, samples and environment steps had been seen by then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.folder import Folder
from rollscope.store.numbers import fold

from . import tables


def steps(folder: Folder) -> dict[str, NDArray[Any]]:
    """One row per step, ascending. The first time and the last end of all writers; of each clock the highest reading."""
    rows = tables.alive(folder, fold.join(folder.tables("steps"), arrow.schema(arrow.fields("steps"))))
    rows = rows.filter(rows["step"].is_valid())
    highest = ["end_ns", "attempt", "explore_step", "env_steps", "tokens", "samples", "epoch", "policy_version"]
    grouped = rows.group_by("step").aggregate([("time_ns", "min"), *((name, "max") for name in highest)])
    grouped = grouped.rename_columns(
        [name.removesuffix("_min").removesuffix("_max") for name in grouped.column_names]
    ).sort_by("step")
    return {
        name: _floats(grouped[name]) if name in highest[2:] else np.asarray(grouped[name].fill_null(-1))
        for name in grouped.column_names
    }


def _floats(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
