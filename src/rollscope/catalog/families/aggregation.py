"""How a loss per token becomes one number: the aggregations the trainers offer, from sums over each sample's tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..keys import key
from ..partial import Mean

key("loss_scale", "step", "the constant a summed loss is divided by: the longest completion allowed, in Dr. GRPO")
key("loss_mode", "word", "which policy loss: vanilla (PPO clip), gspo, cispo, gpg, geo_mean, sapo, ...")

AGGREGATIONS = ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm")


def is_ppo(ratio_level: str, loss_mode: str) -> bool:
    """Whether the loss is PPO's clipped surrogate on token ratios: what the plain loss and clip entries describe."""
    return ratio_level == "token" and loss_mode in ("vanilla", "ppo")


def aggregate(sums_S: Any, tokens_S: Any, how: str, scale: float | None = None) -> Mean | None:
    """Σ over tokens by tokens, or by sequences that have any; None where a word is not known or the constant is missing."""
    some = tokens_S > 0
    sums, tokens = sums_S[some], tokens_S[some]
    how = how.replace("-", "_")
    if how == "token_mean":
        return Mean(float(np.sum(sums)), float(np.sum(tokens)))
    if how == "seq_mean_token_mean":
        return Mean(float(np.sum(sums / tokens)), float(len(sums)))
    if how == "seq_mean_token_sum":
        return Mean(float(np.sum(sums)), float(len(sums)))
    if how == "seq_mean_token_sum_norm" and scale:
        return Mean(float(np.sum(sums)) / scale, float(len(sums)))
    return None
