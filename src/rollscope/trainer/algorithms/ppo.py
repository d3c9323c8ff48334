"""PPO: a critic predicts the return at every token; advantages are differences to it (GAE).

It differs from GRPO in two ways: advantages come from the critic's values, and the critic learns
from the same minibatches, with its own optimiser and a clip on how far its values may move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rollscope.trainer.backend import Batch, Optimiser, Tokens, microbatches
from rollscope.trainer.config import Config
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.timeline import Timeline

from . import advantages as estimators
from . import losses
from .grpo import Grpo, Targets


class Ppo(Grpo):
    def __init__(self, config: Config, policy: Transformer, timeline: Timeline) -> None:
        super().__init__(config, policy, timeline)
        self.critic = Transformer(config.model, outputs=1).to(policy.device)
        self.critic_optimiser = Optimiser(self.critic, config.optimiser.critic_lr, config)

    def values(self, tokens: Tokens) -> Tensor:
        parts = microbatches(torch.arange(len(tokens.ids), device=tokens.ids.device), self.config.algorithm.microbatch)
        return torch.cat([tokens.rows(rows).outputs(self.critic).squeeze(-1) for _, rows in parts])

    def targets(self, batch: Batch, tokens: Tokens) -> Targets:
        with self.timeline.span("values", step=batch.step), torch.no_grad():
            self.old_values = self.values(tokens)
        return super().targets(batch, tokens)

    def estimate(self, batch: Batch, tokens: Tokens, old_logp: Tensor, ref_logp: Tensor) -> Targets:
        algorithm = self.config.algorithm
        rewards = self.token_rewards(batch, tokens, old_logp, ref_logp)
        advantages, returns = estimators.gae(rewards, self.old_values, tokens.mask, algorithm.gamma, algorithm.lam)
        return Targets(old_logp, ref_logp, advantages, rewards, returns, self.old_values)

    def update(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> float:
        self.update_critic(step, minibatch, tokens, targets, rows, last)
        return super().update(step, minibatch, tokens, targets, rows, last)

    def update_critic(
        self, step: int, minibatch: int, tokens: Tokens, targets: Targets, rows: Tensor, last: dict[str, Tensor]
    ) -> None:
        assert targets.returns is not None and targets.old_values is not None
        with self.timeline.span("update_critic", step=step, minibatch=minibatch):
            for _, part in microbatches(rows, self.config.algorithm.microbatch):
                values = tokens.rows(part).outputs(self.critic).squeeze(-1)
                old_values, returns, mask = targets.old_values[part], targets.returns[part], tokens.mask[part]
                loss = losses.value_loss(values, old_values, returns, mask, self.config.algorithm.value_clip)
                torch.autograd.backward(loss * len(part) / len(rows))
                last.setdefault("values", torch.zeros_like(targets.old_logp))[part] = values.detach()
            self.critic_optimiser.step()

    def report(
        self, batch: Batch, tokens: Tokens, targets: Targets, last: Mapping[str, Tensor], loss: float
    ) -> dict[str, float]:
        metrics = super().report(batch, tokens, targets, last, loss)
        batch.arrays |= {
            "value_clip": self.config.algorithm.value_clip,
            "critic_lr": self.critic_optimiser.lr,
            "critic_grad_norm": self.critic_optimiser.lap(),
        }
        return metrics

    def state(self) -> dict[str, Any]:
        return super().state() | {"critic": self.critic.state_dict(), "critic_optimiser": self.critic_optimiser.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.critic.load_state_dict(state["critic"])
        self.critic_optimiser.load(state["critic_optimiser"])
