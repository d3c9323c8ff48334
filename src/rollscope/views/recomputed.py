"""Series of metrics that were computed again from samples: `recomputed/NAME`.

Of several results of a step the newest counts, so a changed definition replaces what it gave
before, step by step.
"""

from __future__ import annotations

import numpy as np

from rollscope.store.run import Run

from .steps import Series

PREFIX = "recomputed/"


def recomputed_series(run: Run) -> dict[str, Series]:
    """Each metric that was recomputed for some steps."""
    rows = run.table("scans", ["step", "name", "value", "time_ns"])
    ours = np.array([str(name).startswith(PREFIX) for name in rows["name"]], bool)
    order = np.flatnonzero(ours)[np.argsort(rows["time_ns"][ours], kind="stable")]
    found: dict[str, dict[int, float]] = {}
    for i in order.tolist():
        found.setdefault(str(rows["name"][i]), {})[int(rows["step"][i])] = float(rows["value"][i])
    return {name: _series(points) for name, points in found.items()}


def _series(points: dict[int, float]) -> Series:
    steps = np.array(sorted(points), np.int64)
    values = np.array([points[step] for step in steps.tolist()])
    return {"step": steps, "value": values, "weight": np.full(len(steps), np.nan)}
