"""A permutation test of paired differences: under no effect, each unit's sign is a coin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .units import Clusters, Floats, labels_of, sums_of, values_of

EXACT = 14  # up to so many units that moved, every choice of signs is tried: 16,384
DRAWS = 20_000
BLOCK = 500  # draws at a time, so that ten thousand tasks need little memory
SEED = 42


def sign_flip(differences: ArrayLike, clusters: Clusters = None) -> float:
    """Two-sided p of a mean difference of 0. Units of one cluster flip together.

    With up to 14 units that moved the p is exact. With more it counts 20,000 draws and the data
    themselves, so it is never 0.
    """
    numbers = values_of(differences)
    sums = sums_of(numbers, labels_of(clusters, len(numbers)))
    moved = np.abs(sums[sums != 0])
    if not len(moved):
        return 1.0
    least = abs(float(sums.sum())) * (1 - 1e-12)  # sums in another order differ in the last bit
    return _every(moved, least) if len(moved) <= EXACT else _drawn(moved, least)


def _every(moved: Floats, least: float) -> float:
    sums = np.zeros(1)
    for size in moved:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= least))


def _drawn(moved: Floats, least: float) -> float:
    random = np.random.default_rng(SEED)
    total, hits = float(moved.sum()), 0
    for _ in range(DRAWS // BLOCK):
        heads = random.random((BLOCK, len(moved)), np.float32) < 0.5
        hits += int(np.sum(np.abs(2 * (heads @ moved) - total) >= least))
    return (hits + 1) / (DRAWS + 1)
