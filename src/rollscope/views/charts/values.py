"""The stored values of some metrics at one step, for the read-outs of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollscope import strict_json
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.strict_json import Number

from .grid import held_names


def values_at(run: Run, names: Sequence[str], step: int) -> dict[str, Number]:
    """Name -> its merged value at exactly this step; names without a point there are left out.

    All names are read together, as for a screen of charts.
    """
    asked = [one.asked for one in held_names(run, names)]
    columns = run.buckets(asked, step - 0.5, step + 0.5, 1)
    values = {name: _value(columns, i) for i, name in enumerate(asked) if columns["step"][i, 0] == step}
    return {name: strict_json.number(value) for name, value in values.items() if value is not None}


def _value(columns: Columns, row: int) -> float | None:
    """The one value of a bucket; None if its point has no data."""
    values = {"count": columns["last"][row, 0], "nan": np.nan, "posinf": np.inf, "neginf": -np.inf}
    return next((float(value) for kind, value in values.items() if columns[kind][row, 0]), None)
