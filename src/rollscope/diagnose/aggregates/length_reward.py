"""Does reward go with length inside groups? A group has one prompt, so difficulty plays no part."""

from __future__ import annotations

import numpy as np

from .chunk import Chunk, centred
from .registry import Numbers, aggregate


@aggregate("length_reward", "reward", "completion_tokens")
def length_reward(samples: Chunk) -> Numbers:
    """The correlation of length and reward over all samples, each less the mean of its group."""
    return inside_groups(samples, "completion_tokens", "reward")


def inside_groups(samples: Chunk, one: str, other: str) -> Numbers:
    """The correlation of two columns inside groups; NaN for a step where either does not vary."""
    x, y = samples.number(one), samples.number(other)
    known = np.isfinite(x) & np.isfinite(y)
    x, y = (centred(values, samples.group(), known) for values in (x, y))
    both, xx, yy = (samples.mean(values) for values in (x * y, x * x, y * y))
    spread = np.sqrt(xx * yy)
    return np.asarray(np.divide(both, spread, out=np.full(len(both), np.nan), where=spread > 1e-12))
