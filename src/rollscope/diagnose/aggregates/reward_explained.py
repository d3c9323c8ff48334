"""What the reward adds to its parts: noise, or a price for length.

The reward is made from its components, or from the score. What is added to their sum should stay as
it was at the opening. It is looked at as it is: reward less the sum, sample by sample.
"""

from __future__ import annotations

import json

import numpy as np

from .chunk import Chunk, Floats
from .registry import Numbers, aggregate

LEAST = 8  # samples


@aggregate("added_share", "reward", text=True, needs=f"reward that varies, and rewards or score, {LEAST} a step")
def added_share(samples: Chunk) -> Numbers:
    """The variance of what is added to the parts, as a share of the variance of the reward."""
    reward, added = samples.number("reward"), _added(samples)
    return samples.by_step(lambda at: _share(added[at], reward[at]))


@aggregate("added_per_token", "reward", "completion_tokens", text=True)
def added_per_token(samples: Chunk) -> Numbers:
    """By how much the reward less its parts grows with each token; 0 where nothing is added."""
    tokens, added = samples.number("completion_tokens"), _added(samples)
    return samples.by_step(lambda at: _slope(tokens[at], added[at]))


def _added(samples: Chunk) -> Floats:
    """Reward less the sum of its components, else less the score; NaN where neither is known."""
    base = samples.number("score") if samples.has("score") else np.full(len(samples), np.nan)
    if samples.has("rewards"):
        sums = np.array([_sum(text) for text in samples.texts("rewards")])
        base = np.where(np.isfinite(sums), sums, base)
    return np.asarray(samples.number("reward") - base)


def _sum(text: str) -> float:
    try:
        parts = json.loads(text) if text else None
    except ValueError:
        return np.nan
    numbers = [value for value in parts.values() if isinstance(value, int | float)] if isinstance(parts, dict) else []
    return float(sum(numbers)) if numbers else np.nan


def _share(added: Floats, reward: Floats) -> float:
    known = np.isfinite(added)
    total = float(np.var(reward[known])) if known.sum() >= LEAST else 0.0
    return float(np.var(added[known])) / total if total > 1e-12 else np.nan


def _slope(tokens: Floats, added: Floats) -> float:
    known = np.isfinite(added) & np.isfinite(tokens)
    x, y = tokens[known], added[known]
    if len(x) >= LEAST and float(np.abs(y).max()) < 1e-9:
        return 0.0  # also where all answers are equally long
    if len(x) < LEAST or float(np.ptp(x)) == 0:
        return np.nan
    return float(np.cov(x, y, bias=True)[0, 1] / np.var(x))
