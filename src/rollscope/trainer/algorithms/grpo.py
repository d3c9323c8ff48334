"""GRPO and its kin: many answers to one prompt, each judged against the others; no critic.

A step: old log-probabilities of every sample -> per minibatch a clipped update, accumulated over microbatches. The advantage of a
sample was made by the data pipeline from its group (`grpo`, `dr_grpo`, `rloo`); the token-level kin (`reinforce_pp`) is made here.
What is recorded of a token is its last pass through the policy.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rollscope.trainer.backend import Backend, Batch, Optimiser, Tokens, broken, logps_of, microbatches
from rollscope.trainer.config import Config
from rollscope.trainer.policy.model import Transformer, token_logps
from rollscope.trainer.timeline import Timeline

from . import advantages as estimators
from . import losses


@dataclass(slots=True)
class Targets:
    """What the loss compares with, fixed before the first minibatch. `[B, T]`."""

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
        for epoch in range(self.config.algorithm.epochs):
            order = torch.randperm(len(batch.samples), generator=self.shuffle).to(tokens.ids.device)
            for number, rows in enumerate(order.chunk(self.config.algorithm.minibatches)):
                total += self.update(
                    batch.step, epoch * self.config.algorithm.minibatches + number, tokens, targets, rows, last
                )
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
        """The sample's reward on its last sampled token, less the KL penalty when that is part of the reward."""
        last = (tokens.mask * torch.arange(1, tokens.mask.shape[1] + 1, device=tokens.mask.device)).argmax(-1)
        rewards = torch.zeros_like(old_logp)
        rewards[torch.arange(len(batch.samples)), last] = torch.tensor(
            [s.reward for s in batch.samples], device=old_logp.device
        )
        if self.config.algorithm.kl_in == "reward" and self.config.algorithm.kl_coef:
            rewards -= (
                self.config.algorithm.kl_coef
                * losses.kl_penalty(old_logp, ref_logp, self.config.algorithm.kl_estimator)
                * tokens.mask
            )
        return rewards * tokens.mask

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
        return Targets(
            old_logp, ref_logp, advantages, rewards, advantages
        )  # without a critic the return is the advantage, as in veRL

    def update(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> float:
        """One optimiser step over a minibatch; its loss."""
        with self.timeline.span("update_policy", step=step, minibatch=minibatch):
            return self.update_actor(step, minibatch, tokens, targets, rows, last)

    def update_actor(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> float:
        total = 0.0
        for number, part in microbatches(rows, self.config.algorithm.microbatch):
            with self.timeline.span("forward", step=step, microbatch=number, minibatch=minibatch):
                outputs = tokens.rows(part).outputs(self.policy)
            with self.timeline.span("compute_entropy", step=step, microbatch=number, minibatch=minibatch):
                logp, entropy = token_logps(outputs, tokens.response[part], self.config.rollout.temperature)
            loss = self.loss(step, number, minibatch, tokens, targets, part, logp, entropy) * len(part) / len(rows)
            with self.timeline.span("backward", step=step, microbatch=number, minibatch=minibatch):
                torch.autograd.backward(broken(loss, self.config.failure.faults, step))
            total += loss.item()
            last["logp"][part], last["entropy"][part] = logp.detach(), entropy.detach()
        with self.timeline.span("optimizer", step=step, minibatch=minibatch):
            self.optimiser.step()
        return total

    def loss(
        self,
        step: int,
        number: int,
        minibatch: int,
        tokens: Tokens,
        targets: Targets,
        rows: Tensor,
        logp: Tensor,
        entropy: Tensor,
    ) -> Tensor:
        algorithm, mask = self.config.algorithm, tokens.mask[rows]
        with self.timeline.span("loss", step=step, microbatch=number, minibatch=minibatch):
            x = losses.log_ratio(logp, targets.old_logp[rows], algorithm.ratio_level, mask)
            per_token = losses.clipped_policy_loss(
                x, targets.advantages[rows], algorithm.clip_low, algorithm.clip_high, algorithm.clip_c or None
            )
            if algorithm.importance_cap:
                per_token = per_token * losses.truncated_importance(
                    targets.old_logp[rows], tokens.rollout_logp[rows], algorithm.importance_cap
                )
            loss = losses.aggregate(per_token, mask, algorithm.loss_agg, self.config.rollout.max_completion_tokens)
            loss = loss - algorithm.entropy_coef * losses.aggregate(entropy, mask)
        with self.timeline.span("compute_kl", step=step, microbatch=number, minibatch=minibatch):
            if algorithm.kl_in == "loss" and algorithm.kl_coef:
                penalty = losses.kl_penalty(logp, targets.ref_logp[rows], algorithm.kl_estimator)
                loss = loss + algorithm.kl_coef * losses.aggregate(
                    penalty, mask, algorithm.loss_agg, self.config.rollout.max_completion_tokens
                )
        return loss

    def report(
        self, batch: Batch, tokens: Tokens, targets: Targets, last: Mapping[str, Tensor], loss: float
    ) -> dict[str, float]:
        """What this step was, for the catalogue to measure; and what only we know."""
        algorithm = self.config.algorithm
        arrays = {"action_mask": tokens.mask, "mask": tokens.mask, "rollout_logp": tokens.rollout_logp, **last}
        fixed = ("old_logp", "ref_logp", "advantages", "token_rewards", "returns", "old_values")
        arrays |= {name: getattr(targets, name) for name in fixed if getattr(targets, name) is not None}
        batch.arrays |= {name: value.detach().cpu().numpy() for name, value in arrays.items()}
        batch.arrays |= {
            "clip_low": algorithm.clip_low, "clip_high": algorithm.clip_high, "ratio_level": algorithm.ratio_level, "loss_agg": algorithm.loss_agg,
            "kl_coef": algorithm.kl_coef, "entropy_coef": algorithm.entropy_coef, "temperature": self.config.rollout.temperature,
            "lr": self.optimiser.lr, "grad_norm": self.optimiser.lap(), "loss": loss,
        }  # fmt: skip
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
