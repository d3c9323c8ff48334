"""Series of what scanners said: the mean over a step's samples, or the share that has a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.views.samples.scans import Floats, named, newest_scans

from .steps import Series


def scan_series(run: Run) -> dict[str, Series]:
    """`scan/<scanner>/mean`, and `scan/<scanner>/<label>` as a share, over training samples."""
    rows = newest_scans(run)
    counted = np.array([split != "eval" for split in rows["split"]], bool)
    labels = np.array([label is not None for label in rows["label"]], bool)
    series: dict[str, Series] = {}
    for name, (where, values) in named(rows).items():
        keep = counted[where]
        if keep.any():
            shares = labels[where].any()
            series[name if shares else f"{name}/mean"] = _mean(rows["step"][where][keep], values[keep])
    return series


def _mean(steps: NDArray[Any], values: Floats) -> Series:
    step, at = np.unique(steps.astype(np.int64), return_inverse=True)
    count = np.bincount(at).astype(np.float64)
    return {"step": step, "value": np.bincount(at, values) / count, "weight": count}
