"""How a loss per token becomes one number: the aggregations the trainers offer, from sums over each sample's tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.spec import derived

key(
    "loss_scale",
    "step",
    "the constant a summed loss is divided by: the longest completion allowed, in Dr. GRPO; max_completion_tokens where it is not given",
)
key("loss_mode", "word", "which policy loss: vanilla (PPO clip), gspo, cispo, gpg, geo_mean, sapo, ...")

AGGREGATIONS = ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm")


def is_ppo(ratio_level: str, loss_mode: str) -> bool:
    """Whether the loss is PPO's clipped surrogate on token ratios: what the plain loss and clip entries describe."""
    return ratio_level == "token" and loss_mode in ("vanilla", "ppo")


@derived
def loss_mode(ratio_level: str) -> str:
    """A loss on the ratio of whole sequences is GSPO's, where nobody said which it is."""
    return {"token": "vanilla", "sequence": "gspo"}.get(ratio_level, ratio_level)


@derived
def loss_scale(max_completion_tokens_S: Any) -> float | None:
    """Dr. GRPO's constant, where it was not said: the limit on a completion, if there is one limit for all."""
    limits = np.unique(np.asarray(max_completion_tokens_S))
    return float(limits[0]) if len(limits) == 1 and limits[0] > 0 else None


def aggregate(sums_S: Any, tokens_S: Any, how: str, scale: float | None = None) -> Mean:
    """Σ over tokens by tokens, or by sequences that have any; no data where a word is not known or the constant is missing."""
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
    return Mean()
