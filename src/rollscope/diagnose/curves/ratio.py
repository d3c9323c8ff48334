"""One series divided by another at the steps of both."""

from __future__ import annotations

import numpy as np

from .series import Series


def ratio(part: Series, whole: Series) -> Series:
    """`part / whole` at the steps that both have, where the whole is above 0."""
    same = np.array_equal(part.step, whole.step)
    steps = part.step if same else np.intersect1d(part.step, whole.step)
    above, below = part.at(steps), whole.at(steps)
    known = below > 0
    return Series(steps[known], above[known] / below[known], part.name)
