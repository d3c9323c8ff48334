"""Several tests at once: Holm's correction, so that twenty sets do not give one false alarm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Each p with the correction for all of them, in the same order. NaN counts as no test."""
    given = np.asarray(p, np.float64)
    order = np.argsort(given)  # NaN comes last
    tests = int(np.isfinite(given).sum())
    corrected = np.full(len(given), np.nan)
    ranked = given[order[:tests]] * np.arange(tests, 0, -1)
    corrected[order[:tests]] = np.minimum(np.maximum.accumulate(ranked), 1.0)
    return [float(value) for value in corrected]
