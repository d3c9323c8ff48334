"""A reward model: a transformer with one output that learns to score chosen above rejected answers.

The loss is Bradley-Terry. The score of an answer is the output at its last token. A batch holds
pairs as neighbours, as for DPO.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rollscope.trainer.backend import Backend, Batch, Optimiser, Tokens, with_fault
from rollscope.trainer.config import Config
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.timeline import Timeline

from . import losses


class RewardModel(Backend):
    def __init__(self, config: Config, policy: Transformer, timeline: Timeline) -> None:
        """The judge starts from the policy's weights, with a new head."""
        super().__init__(config, policy, timeline)
        self.judge = Transformer(config.model, outputs=1).to(policy.device)
        known = {name: value for name, value in policy.state_dict().items() if not name.startswith("head")}
        self.judge.load_state_dict(known, strict=False)
        self.optimiser = Optimiser(self.judge, config.optimiser.lr, config)

    def scores(self, tokens: Tokens) -> Tensor:
        lengths = (tokens.ids != 0).sum(-1)
        out: Tensor = self.judge(tokens.ids).squeeze(-1)
        return out[torch.arange(len(lengths), device=out.device), lengths - 1]

    def train_step(self, batch: Batch) -> dict[str, float]:
        with self.timeline.span("prepare_tensors", step=batch.step):
            tokens = Tokens.of(batch.samples)
        with self.timeline.span("data_to_device", step=batch.step):
            tokens = tokens.to(self.policy.device)
        with self.timeline.span("forward", step=batch.step):
            score = self.scores(tokens)
        with self.timeline.span("loss", step=batch.step):
            loss = losses.bradley_terry(score[0::2], score[1::2])
        with self.timeline.span("backward", step=batch.step):
            torch.autograd.backward(with_fault(loss, self.config.failure.faults, batch.step))
        with self.timeline.span("optimizer", step=batch.step):
            self.optimiser.step()
        scores = score.detach().cpu().numpy()
        batch.arrays = {
            "chosen_score": scores[0::2],
            "rejected_score": scores[1::2],
            "loss": loss.item(),
            "lr": self.optimiser.lr,
            "scheduler": self.optimiser.schedule,
            "grad_norm": self.optimiser.lap(),
        }
        return {"optimiser/skipped": float(self.optimiser.skipped)}

    def state(self) -> dict[str, Any]:
        return super().state() | {"judge": self.judge.state_dict(), "optimiser": self.optimiser.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.judge.load_state_dict(state["judge"])
        self.optimiser.load(state["optimiser"])
