"""Groups of runs that differ in their seed: a robust mean, its band, and who is likely better."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from rollscope.errors import RollscopeError

from .units import Floats, Ints

DRAWS = 2_000
CURVE_DRAWS = 400  # for a band around a curve
SEED = 42


def matrix_of(scores: ArrayLike) -> Floats:
    """Runs x tasks. One number per run is one task."""
    numbers = np.asarray(scores, np.float64)
    table = numbers[:, None] if numbers.ndim == 1 else numbers
    if table.ndim != 2 or not np.isfinite(table).all():
        raise RollscopeError(f"the scores have shape {numbers.shape}; finite numbers by run and task are expected")
    return table


def iqm(scores: ArrayLike) -> float:
    """The interquartile mean: the mean of the middle half of all runs' scores."""
    return float(_middle(np.sort(matrix_of(scores), axis=None)[None, :])[0])


def _middle(ordered: Floats) -> Floats:
    n = ordered.shape[1]
    cut = int(0.25 * n)
    return ordered[:, cut : n - cut].mean(axis=1) if n else np.full(len(ordered), math.nan)


def iqm_interval(scores: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """A stratified bootstrap: for every task, runs are drawn again. NaN with one run."""
    table = matrix_of(scores)
    if len(table) < 2:
        return math.nan, math.nan
    random = np.random.default_rng(SEED)
    means = np.concatenate([_middle(_drawn(table, random)) for _ in range(DRAWS // 100)])
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def _drawn(table: Floats, random: np.random.Generator, draws: int = 100) -> Floats:
    runs, tasks = table.shape
    picks = random.integers(0, runs, (draws, runs, tasks))
    return np.sort(table[picks, np.arange(tasks)].reshape(draws, -1), axis=1)


def centre(values: Floats, robust: bool = False) -> Floats:
    """The mean over runs (the first axis), or their interquartile mean."""
    if not robust:
        return np.asarray(values.mean(axis=0), np.float64)
    cut = int(0.25 * len(values))
    return np.asarray(np.sort(values, axis=0)[cut : len(values) - cut].mean(axis=0), np.float64)


def drawn_centres(values: Floats, robust: bool = False, draws: int = CURVE_DRAWS, seed: int = SEED) -> Floats:
    """Draws x points: the centre of curves, with the runs of a group drawn again each time."""
    if not robust:
        return np.asarray(_weights(seed, len(values), draws) @ values, np.float64)
    drawn, cut = values[_picks(seed, len(values), draws)], int(0.25 * len(values))
    return np.asarray(np.sort(drawn, axis=1)[:, cut : len(values) - cut].mean(axis=1), np.float64)


def _picks(seed: int, runs: int, draws: int) -> Ints:
    """Draws x runs: which runs a draw has."""
    return np.random.default_rng([seed, runs]).integers(0, runs, (draws, runs))


@lru_cache(maxsize=64)
def _weights(seed: int, runs: int, draws: int) -> Floats:
    """Draws x runs: the weight of each run in the mean of a draw. The same for every metric."""
    counts = [np.bincount(pick, minlength=runs) for pick in _picks(seed, runs, draws)]
    return np.stack(counts) / runs


def band(draws: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """The ends of a bootstrap's interval at each point: quantiles, between draws by a line."""
    ordered = np.sort(draws, axis=0)  # half the time of np.quantile
    return _quantile(ordered, 0.5 - level / 2), _quantile(ordered, 0.5 + level / 2)


def _quantile(ordered: Floats, share: float) -> Floats:
    at = share * (len(ordered) - 1)
    first = min(int(at), len(ordered) - 2)
    return np.asarray(ordered[first] + (at - first) * (ordered[first + 1] - ordered[first]), np.float64)


def improvement(a: ArrayLike, b: ArrayLike) -> float:
    """The probability that a run of b is better than a run of a on a task; ties count half."""
    left, right = matrix_of(a), matrix_of(b)
    if left.shape[1] != right.shape[1]:
        raise RollscopeError(f"a has {left.shape[1]} tasks and b has {right.shape[1]}; give both the same tasks")
    if not left.size or not right.size:
        return math.nan
    wins = np.sign(right[:, None, :] - left[None, :, :])
    return float((wins.mean() + 1) / 2)
