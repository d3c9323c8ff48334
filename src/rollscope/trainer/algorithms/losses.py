"""Losses, as pure functions of tensors: the clipped policy loss, KL penalties, aggregation, the critic's, preferences and the judge.

Each returns a loss and nothing else: what is measured is computed from the same tensors by the catalogue, once, for everybody.
Log ratios are held within +-20 before they are exponentiated, and a KL penalty within +-10, so that one outlier token cannot make
a step infinite; the recorded KL is not held.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Aggregation = Literal["token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm"]
Estimator = Literal["k1", "k2", "k3"]


def aggregate(x: Tensor, mask: Tensor, how: Aggregation = "token_mean", norm: float | None = None) -> Tensor:
    """One number from `[B, T]`. `norm` is the constant length of `seq_mean_token_sum_norm`, by default the padded width."""
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
    """log pi / pi_old per token, or (GSPO) one mean per sequence whose gradient still reaches every token."""
    x = torch.where(mask.bool(), logp - old_logp, 0)
    if level == "sequence":
        mean = x.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        x = mean.detach() + logp - logp.detach()
    return x.clamp(-20, 20)


def clipped_policy_loss(
    x: Tensor, advantages: Tensor, clip_low: float = 0.2, clip_high: float = 0.2, clip_c: float | None = None
) -> Tensor:
    """Per token: -min(r A, clip(r) A); with `clip_c` (dual clip) a bad token with a huge ratio costs at most -c A."""
    ratio = x.exp()
    loss = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - clip_low, 1 + clip_high))
    if clip_c is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -advantages * clip_c), loss)


def truncated_importance(old_logp: Tensor, rollout_logp: Tensor, cap: float) -> Tensor:
    """min(pi_old / pi_rollout, cap) per token: corrects for a sampler that is not the trainer, without letting one token explode."""
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
    """Half the squared error, the worse of the free and the clipped value: the critic may not run further from the values that made the advantages."""
    held = values.clamp(old_values - clip, old_values + clip)
    return 0.5 * aggregate(torch.maximum((values - returns) ** 2, (held - returns) ** 2), mask)


def dpo(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float) -> Tensor:
    return -F.logsigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected))).mean()


def simpo(
    chosen: Tensor, rejected: Tensor, chosen_tokens: Tensor, rejected_tokens: Tensor, beta: float, gamma: float
) -> Tensor:
    """No reference: mean log-probability per token, with a margin `gamma`."""
    return -F.logsigmoid(beta * (chosen / chosen_tokens - rejected / rejected_tokens) - gamma).mean()


def kto(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float) -> Tensor:
    """Each answer alone against the batch's own divergence, desirable and undesirable weighing the same."""
    up, down = chosen - ref_chosen, rejected - ref_rejected
    anchor = torch.cat([up, down]).mean().clamp(min=0).detach()
    return 0.5 * ((1 - torch.sigmoid(beta * (up - anchor))).mean() + (1 - torch.sigmoid(beta * (anchor - down))).mean())


def bradley_terry(chosen_score: Tensor, rejected_score: Tensor) -> Tensor:
    return -F.logsigmoid(chosen_score - rejected_score).mean()
