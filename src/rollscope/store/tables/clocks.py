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
    """One row per step: over all writers the first time, the last end, the highest reading."""
    rows = tables.alive(folder, fold.join(folder.tables("steps"), arrow.schema(arrow.fields("steps"))))
    rows = rows.filter(rows["step"].is_valid())
    highest = [(name, "max") for name in (*INTEGERS, *READINGS)]
    grouped = rows.group_by("step").aggregate([("time_ns", "min"), *highest])
    names = [name.removesuffix("_min").removesuffix("_max") for name in grouped.column_names]
    grouped = grouped.rename_columns(names).sort_by("step")
    return {
        name: _floats(grouped[name]) if name in READINGS else np.asarray(grouped[name].fill_null(-1)) for name in names
    }


def _floats(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
