"""Advantage estimators: how much better than expected a sample, or a token, was.

Sample-level estimators take one reward per sample and its group. Token-level ones take `[B, T]`
tensors and the mask of the tokens that the policy sampled. A group of one has no other sample to
compare with: its baseline is 0. `NORMALISATION` describes each estimator and is recorded with the
run, because an advantage of 1.5 means nothing without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

NORMALISATION = {
    "grpo": "reward minus its group's mean, divided by the group's standard deviation (ddof 1) + 1e-6",
    "dr_grpo": "reward minus its group's mean; not divided, so that easy and hard prompts weigh the same",
    "rloo": "reward minus the mean of the other samples of its group",
    "reinforce_pp": "discounted return of every token, whitened over all tokens of the batch (ddof 1)",
    "reinforce_pp_baseline": "reward minus its group's mean, whitened over all tokens of the batch (ddof 1)",
    "gae": "generalised advantage estimate from the critic's values, whitened over all tokens of the batch (ddof 1)",
}


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.bool(), x, 0).sum() / mask.sum().clamp(min=1)


def whiten(x: Tensor, mask: Tensor) -> Tensor:
    """Mean 0 and variance 1 (ddof 1) over the tokens of the mask, 0 elsewhere."""
    count = mask.sum()
    mean = masked_mean(x, mask)
    variance = masked_mean((x - mean) ** 2, mask) * count / (count - 1).clamp(min=1)
    return torch.where(mask.bool(), (x - mean) * torch.rsqrt(variance + 1e-8), 0)


def _per_group(reward: Tensor, group: Sequence[str], value: Callable[[Tensor], Tensor]) -> Tensor:
    """`value` of each group's rewards, in the order of the samples."""
    out = torch.empty_like(reward)
    rows: dict[str, list[int]] = {}
    for i, name in enumerate(group):
        rows.setdefault(str(name), []).append(i)
    for members in rows.values():
        out[members] = value(reward[members])
    return out


def grpo(reward: Tensor, group: Sequence[str]) -> Tensor:
    return _per_group(reward, group, lambda r: (r - r.mean()) / (r.std() + 1e-6) if len(r) > 1 else r / (1 + 1e-6))


def dr_grpo(reward: Tensor, group: Sequence[str]) -> Tensor:
    return _per_group(reward, group, lambda r: r - r.mean() if len(r) > 1 else r)


def rloo(reward: Tensor, group: Sequence[str]) -> Tensor:
    return _per_group(reward, group, lambda r: (r - r.mean()) * len(r) / (len(r) - 1) if len(r) > 1 else r)


SAMPLE_LEVEL: dict[str, Callable[[Tensor, Sequence[str]], Tensor]] = {
    "grpo": grpo,
    "dr_grpo": dr_grpo,
    "rloo": rloo,
    "reinforce_pp_baseline": dr_grpo,
}


def reinforce_pp_baseline(reward: Tensor, group: Sequence[str], mask: Tensor) -> Tensor:
    return whiten(dr_grpo(reward, group)[:, None] * mask, mask)


def reinforce_pp(token_rewards: Tensor, mask: Tensor, gamma: float = 1.0) -> tuple[Tensor, Tensor]:
    """(advantages, returns).

    A return is the reward from a token on; there is no group and no critic.
    """
    returns = torch.zeros_like(token_rewards)
    running = torch.zeros_like(token_rewards[:, 0])
    for t in reversed(range(token_rewards.shape[1])):
        here = mask[:, t].bool()
        running = torch.where(here, token_rewards[:, t] + gamma * running, running)
        returns[:, t] = torch.where(here, running, 0)
    return whiten(returns, mask), returns


def gae(
    token_rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 0.95
) -> tuple[Tensor, Tensor]:
    """(whitened advantages, returns).

    Tokens outside the mask (tool and environment text) are skipped.
    """
    advantages = torch.zeros_like(values)
    ahead = torch.zeros_like(values[:, 0])
    next_value = torch.zeros_like(values[:, 0])
    for t in reversed(range(values.shape[1])):
        here = mask[:, t].bool()
        delta = token_rewards[:, t] + gamma * next_value - values[:, t]
        ahead = torch.where(here, delta + gamma * lam * ahead, ahead)
        next_value = torch.where(here, values[:, t], next_value)
        advantages[:, t] = ahead
    return whiten(advantages, mask), advantages + values


def group_stage(name: str, reward: Tensor, group: Sequence[str]) -> Tensor:
    """The part of an estimator that needs only the group.

    The data pipeline computes it before a batch exists.
    """
    return SAMPLE_LEVEL.get(name, dr_grpo)(reward, group)
