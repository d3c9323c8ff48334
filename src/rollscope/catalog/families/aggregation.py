"""Loss aggregation: how trainers turn sums over each sample's tokens into one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.spec import derived

key(
    "loss_scale",
    "step",
    (
        "the constant that a summed loss is divided by: the longest allowed completion in Dr. GRPO; "
        "max_completion_tokens if it is not given"
    ),
)
key("loss_mode", "word", "which policy loss: vanilla (PPO clip), gspo, cispo, gpg, geo_mean, sapo, ...")

AGGREGATIONS = ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm")


def is_ppo(ratio_level: str, loss_mode: str) -> bool:
    """Whether the loss is PPO's clipped surrogate on token ratios, as most entries assume."""
    return ratio_level == "token" and loss_mode in ("vanilla", "ppo")


@derived
def loss_mode(ratio_level: str) -> str:
    """The default by ratio level: GSPO for sequence ratios, vanilla PPO for token ratios."""
    return {"token": "vanilla", "sequence": "gspo"}.get(ratio_level, ratio_level)


@derived
def loss_scale(max_completion_tokens_S: Any) -> float | None:
    """Default of Dr. GRPO's constant: the completion limit, if all samples have the same one."""
    limits = np.unique(np.asarray(max_completion_tokens_S))
    return float(limits[0]) if len(limits) == 1 and limits[0] > 0 else None


def aggregate(sums_S: Any, tokens_S: Any, how: str, scale: float | None = None) -> Mean:
    """Aggregate per-sample sums as `how` says. Samples without tokens are left out.

    No data if `how` is unknown or its constant is missing.
    """
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
