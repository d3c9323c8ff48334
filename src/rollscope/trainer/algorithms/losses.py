"""Losses of policies, critics, preferences and reward models, as pure functions of tensors.

Each returns a loss and nothing else; the catalogue computes metrics from the same tensors.
Log-ratios are clamped to +-20 before they are exponentiated, and a KL penalty to +-10, so that one
outlier token cannot make a step infinite. The recorded KL is not clamped.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from rollscope.trainer.config import Aggregation

Estimator = Literal["k1", "k2", "k3"]


def aggregate(x: Tensor, mask: Tensor, how: Aggregation = "token_mean", norm: float | None = None) -> Tensor:
    """One number from `[B, T]`.

    `norm` is the constant length of `seq_mean_token_sum_norm`, by default the padded width.
    """
    x = torch.where(mask.bool(), x, 0)
    sequences = (mask.sum(-1) > 0).sum().clamp(min=1)
    if how == "token_mean":
        return x.sum() / mask.sum().clamp(min=1)
    if how == "seq_mean_token_mean":
        return (x.sum(-1) / mask.sum(-1).clamp(min=1)).sum() / sequences
    if how == "seq_mean_token_sum":
        return x.sum() / sequences
    return x.sum() / sequences / (norm or x.shape[1])


def log_ratio(logp: Tensor, old_logp: Tensor, level: Literal["token", "sequence"], mask: Tensor) -> Tensor:
    """log pi / pi_old per token, or (GSPO) its mean per sequence (every token has a gradient)."""
    x = torch.where(mask.bool(), logp - old_logp, 0)
    if level == "sequence":
        mean = x.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        x = mean.detach() + logp - logp.detach()
    return x.clamp(-20, 20)


def clipped_policy_loss(
    x: Tensor, advantages: Tensor, clip_low: float = 0.2, clip_high: float = 0.2, clip_c: float | None = None
) -> Tensor:
    """Per token: -min(r A, clip(r) A). With `clip_c` (dual clip) a bad token costs at most -c A."""
    ratio = x.exp()
    loss = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - clip_low, 1 + clip_high))
    if clip_c is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -advantages * clip_c), loss)


def truncated_importance(old_logp: Tensor, rollout_logp: Tensor, cap: float) -> Tensor:
    """min(pi_old / pi_rollout, cap) per token: corrects for an off-policy sampler."""
    return (old_logp - rollout_logp).clamp(-20, 20).exp().clamp(max=cap).detach()


def kl_penalty(logp: Tensor, ref_logp: Tensor, estimator: Estimator = "k3") -> Tensor:
    """An estimate of KL(policy || reference) for each token drawn from the policy."""
    x = logp - ref_logp
    if estimator == "k1":
        return x
    if estimator == "k2":
        return 0.5 * x * x
    return ((-x).clamp(-20, 20).exp() - 1 + x).clamp(-10, 10)


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float = 0.2) -> Tensor:
    """Half the squared error, of the value or of the clipped value, whichever is larger.

    The clip keeps the critic near the values that the advantages were computed from.
    """
    clipped = values.clamp(old_values - clip, old_values + clip)
    return 0.5 * aggregate(torch.maximum((values - returns) ** 2, (clipped - returns) ** 2), mask)


def dpo(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float) -> Tensor:
    return -F.logsigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected))).mean()


def simpo(
    chosen: Tensor, rejected: Tensor, chosen_tokens: Tensor, rejected_tokens: Tensor, beta: float, gamma: float
) -> Tensor:
    """Mean log-probability per token, without a reference, with a margin `gamma`."""
    return -F.logsigmoid(beta * (chosen / chosen_tokens - rejected / rejected_tokens) - gamma).mean()


def kto(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float) -> Tensor:
    """Each answer alone against the batch's mean divergence; both kinds weigh the same."""
    up, down = chosen - ref_chosen, rejected - ref_rejected
    anchor = torch.cat([up, down]).mean().clamp(min=0).detach()
    return 0.5 * ((1 - torch.sigmoid(beta * (up - anchor))).mean() + (1 - torch.sigmoid(beta * (anchor - down))).mean())


def bradley_terry(chosen_score: Tensor, rejected_score: Tensor) -> Tensor:
    return -F.logsigmoid(chosen_score - rejected_score).mean()
