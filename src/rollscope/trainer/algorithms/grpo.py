"""GRPO and its relatives: answers to a prompt are compared with each other; there is no critic.

A step computes the old log-probabilities of every sample, then makes one clipped update per
minibatch, accumulated over microbatches. `grpo`, `dr_grpo` and `rloo` compare a sample with its
group; `reinforce_pp` works on tokens. A token is recorded with its last pass through the policy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rollscope.trainer.backend import Backend, Batch, Optimiser, Tokens, logps_of, microbatches, with_fault
from rollscope.trainer.config import Config
from rollscope.trainer.policy.model import Transformer, token_logps
from rollscope.trainer.timeline import Timeline

from . import advantages as estimators
from . import losses


@dataclass(slots=True)
class Targets:
    """Tensors `[B, T]` that the loss compares with, fixed before the first minibatch."""

    old_logp: Tensor
    ref_logp: Tensor
    advantages: Tensor
    token_rewards: Tensor
    returns: Tensor | None = None
    old_values: Tensor | None = None


class Grpo(Backend):
    def __init__(self, config: Config, policy: Transformer, timeline: Timeline) -> None:
        super().__init__(config, policy, timeline)
        self.reference = copy.deepcopy(policy).requires_grad_(False)
        self.optimiser = Optimiser(policy, config.optimiser.lr, config)
        self.shuffle = torch.Generator().manual_seed(config.run.seed)

    def train_step(self, batch: Batch) -> dict[str, float]:
        with self.timeline.span("prepare_tensors", step=batch.step):
            tokens = Tokens.of(batch.samples)
        with self.timeline.span("data_to_device", step=batch.step):
            tokens = tokens.to(self.policy.device)
        targets = self.targets(batch, tokens)
        last = {name: torch.zeros_like(targets.old_logp) for name in ("logp", "entropy")}
        total, passes = 0.0, 0
        minibatches = self.config.algorithm.minibatches
        for epoch in range(self.config.algorithm.epochs):
            order = torch.randperm(len(batch.samples), generator=self.shuffle).to(tokens.ids.device)
            for i, rows in enumerate(order.chunk(minibatches)):
                total += self.update(batch.step, epoch * minibatches + i, tokens, targets, rows, last)
                passes += 1
        return self.report(batch, tokens, targets, last, total / passes)

    def targets(self, batch: Batch, tokens: Tokens) -> Targets:
        algorithm, temperature = self.config.algorithm, self.config.rollout.temperature
        with self.timeline.span("old_logp", step=batch.step):
            old_logp = logps_of(self.policy, tokens, temperature, algorithm.microbatch)
        with self.timeline.span("ref_logp", step=batch.step):
            ref_logp = logps_of(self.reference, tokens, temperature, algorithm.microbatch)
        with self.timeline.span("advantage", step=batch.step):
            return self.estimate(batch, tokens, old_logp, ref_logp)

    def token_rewards(self, batch: Batch, tokens: Tokens, old_logp: Tensor, ref_logp: Tensor) -> Tensor:
        """The reward at the last sampled token, minus the KL penalty if `kl_in` is "reward"."""
        algorithm, mask = self.config.algorithm, tokens.mask
        last = (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).argmax(-1)
        rewards = torch.zeros_like(old_logp)
        own = torch.tensor([s.reward for s in batch.samples], device=old_logp.device)
        rewards[torch.arange(len(batch.samples)), last] = own
        if algorithm.kl_in == "reward" and algorithm.kl_coef:
            rewards -= algorithm.kl_coef * losses.kl_penalty(old_logp, ref_logp, algorithm.kl_estimator) * mask
        return rewards * mask

    def estimate(self, batch: Batch, tokens: Tokens, old_logp: Tensor, ref_logp: Tensor) -> Targets:
        name = self.config.algorithm.advantage
        rewards = self.token_rewards(batch, tokens, old_logp, ref_logp)
        total, group = rewards.sum(-1), [s.group for s in batch.samples]
        if name == "reinforce_pp":
            advantages, returns = estimators.reinforce_pp(rewards, tokens.mask, self.config.algorithm.gamma)
            return Targets(old_logp, ref_logp, advantages, rewards, returns)
        if name == "reinforce_pp_baseline":
            advantages = estimators.reinforce_pp_baseline(total, group, tokens.mask)
        else:
            advantages = estimators.SAMPLE_LEVEL[name](total, group)[:, None] * tokens.mask
        # Without a critic the return is the advantage, as in veRL.
        return Targets(old_logp, ref_logp, advantages, rewards, returns=advantages)

    def update(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> float:
        """Make one optimiser step over a minibatch; return its loss."""
        with self.timeline.span("update_policy", step=step, minibatch=minibatch):
            return self.update_actor(step, minibatch, tokens, targets, rows, last)

    def update_actor(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> float:
        total = 0.0
        for number, part in microbatches(rows, self.config.algorithm.microbatch):
            labels: dict[str, Any] = {"step": step, "microbatch": number, "minibatch": minibatch}
            with self.timeline.span("forward", **labels):
                outputs = tokens.rows(part).outputs(self.policy)
            with self.timeline.span("compute_entropy", **labels):
                logp, entropy = token_logps(outputs, tokens.response[part], self.config.rollout.temperature)
            loss = self.loss(labels, tokens, targets, part, logp, entropy) * len(part) / len(rows)
            with self.timeline.span("backward", **labels):
                torch.autograd.backward(with_fault(loss, self.config.failure.faults, step))
            total += loss.item()
            last["logp"][part], last["entropy"][part] = logp.detach(), entropy.detach()
        with self.timeline.span("optimizer", step=step, minibatch=minibatch):
            self.optimiser.step()
        return total

    def loss(
        self, labels: dict[str, Any], tokens: Tokens, targets: Targets, rows: Tensor, logp: Tensor, entropy: Tensor
    ) -> Tensor:
        """The loss of a microbatch; `labels` are those of its spans."""
        algorithm, mask = self.config.algorithm, tokens.mask[rows]
        longest = self.config.rollout.max_completion_tokens
        with self.timeline.span("loss", **labels):
            x = losses.log_ratio(logp, targets.old_logp[rows], algorithm.ratio_level, mask)
            clips = (algorithm.clip_low, algorithm.clip_high, algorithm.clip_c or None)
            per_token = losses.clipped_policy_loss(x, targets.advantages[rows], *clips)
            if cap := algorithm.importance_cap:
                weight = losses.truncated_importance(targets.old_logp[rows], tokens.rollout_logp[rows], cap)
                per_token = per_token * weight
            loss = losses.aggregate(per_token, mask, algorithm.loss_agg, longest)
            loss = loss - algorithm.entropy_coef * losses.aggregate(entropy, mask)
        with self.timeline.span("compute_kl", **labels):
            if algorithm.kl_in == "loss" and algorithm.kl_coef:
                penalty = losses.kl_penalty(logp, targets.ref_logp[rows], algorithm.kl_estimator)
                loss = loss + algorithm.kl_coef * losses.aggregate(penalty, mask, algorithm.loss_agg, longest)
        return loss

    def report(
        self, batch: Batch, tokens: Tokens, targets: Targets, last: Mapping[str, Tensor], loss: float
    ) -> dict[str, float]:
        """Fill `batch.arrays` for the catalogue; return the metrics that it cannot compute."""
        algorithm = self.config.algorithm
        arrays = {"action_mask": tokens.mask, "mask": tokens.mask, "rollout_logp": tokens.rollout_logp, **last}
        fixed = ("old_logp", "ref_logp", "advantages", "token_rewards", "returns", "old_values")
        arrays |= {name: getattr(targets, name) for name in fixed if getattr(targets, name) is not None}
        batch.arrays |= {name: value.detach().cpu().numpy() for name, value in arrays.items()}
        settings = ("clip_low", "clip_high", "ratio_level", "loss_agg", "kl_coef", "entropy_coef")
        batch.arrays |= {name: getattr(algorithm, name) for name in settings}
        batch.arrays |= {
            "temperature": self.config.rollout.temperature,
            "lr": self.optimiser.lr,
            "scheduler": self.optimiser.schedule,
            "grad_norm": self.optimiser.lap(),
            "loss": loss,
        }
        if algorithm.clip_c:
            batch.arrays["clip_c"] = algorithm.clip_c
        metrics = {
            "optimiser/updates": float(self.optimiser.updates),
            "optimiser/skipped": float(self.optimiser.skipped),
        }
        if algorithm.kl_in == "reward" and algorithm.kl_estimator == "k1":
            metrics["reward/score_with_kl"] = targets.token_rewards.sum(-1).mean().item()
        return metrics

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "reference": self.reference.state_dict(),
            "optimiser": self.optimiser.state(),
            "shuffle": self.shuffle.get_state(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.reference.load_state_dict(state["reference"])
        self.optimiser.load(state["optimiser"])
        self.shuffle.set_state(state["shuffle"])
