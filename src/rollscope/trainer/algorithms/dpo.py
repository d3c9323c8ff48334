"""DPO: prefer the chosen answer to the rejected one by more than the reference does.

KTO and SimPO are other losses over the same pairs. A batch holds pairs as neighbours: chosen,
rejected, chosen, rejected. There is no rollout and no reward: the implicit reward of an answer is
beta times the log-ratio of its probabilities under the policy and the reference.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from rollscope.trainer.backend import Backend, Batch, Optimiser, Tokens, with_fault
from rollscope.trainer.config import Config
from rollscope.trainer.policy.model import Transformer, token_logps
from rollscope.trainer.timeline import Timeline

from . import losses


def _on_host(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


class Dpo(Backend):
    def __init__(self, config: Config, policy: Transformer, timeline: Timeline) -> None:
        super().__init__(config, policy, timeline)
        self.reference = copy.deepcopy(policy).requires_grad_(False)
        self.optimiser = Optimiser(policy, config.optimiser.lr, config)

    def answer_logps(self, model: Transformer, tokens: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """(log-probability of each answer, log-probability and entropy of each token)."""
        logp, entropy = token_logps(tokens.outputs(model), tokens.response)
        return (logp * tokens.mask).sum(-1), logp, entropy

    def train_step(self, batch: Batch) -> dict[str, float]:
        with self.timeline.span("prepare_tensors", step=batch.step):
            tokens = Tokens.of(batch.samples)
        with self.timeline.span("data_to_device", step=batch.step):
            tokens = tokens.to(self.policy.device)
        with self.timeline.span("ref_logp", step=batch.step), torch.no_grad():
            reference = self.answer_logps(self.reference, tokens)[0]
        with self.timeline.span("forward", step=batch.step):
            answer, logp, entropy = self.answer_logps(self.policy, tokens)
        with self.timeline.span("loss", step=batch.step):
            loss = self.loss(answer, reference, tokens.mask.sum(-1))
        with self.timeline.span("backward", step=batch.step):
            torch.autograd.backward(with_fault(loss, self.config.failure.faults, batch.step))
        with self.timeline.span("optimizer", step=batch.step):
            self.optimiser.step()
        batch.arrays = self.arrays(answer, reference, tokens.mask.sum(-1)) | {"loss": loss.item()}
        self.tokens = _on_host({"logp": logp, "entropy": entropy, "action_mask": tokens.mask})
        return {"optimiser/skipped": float(self.optimiser.skipped)}

    def arrays(self, answer: Tensor, reference: Tensor, count: Tensor) -> dict[str, Any]:
        """What the catalogue computes its metrics from."""
        pairs = {
            "chosen_logp": answer[0::2],
            "rejected_logp": answer[1::2],
            "ref_chosen_logp": reference[0::2],
            "ref_rejected_logp": reference[1::2],
            "chosen_tokens": count[0::2],
            "rejected_tokens": count[1::2],
        }
        algorithm = self.config.algorithm
        optimiser = self.optimiser
        more = {"beta": algorithm.beta, "lr": optimiser.lr, "scheduler": optimiser.schedule}
        more |= {"grad_norm": optimiser.lap()}
        return _on_host(pairs) | more | ({"gamma": algorithm.margin} if algorithm.loss == "simpo" else {})

    def loss(self, answer: Tensor, reference: Tensor, count: Tensor) -> Tensor:
        algorithm = self.config.algorithm
        chosen, rejected, ref_chosen, ref_rejected = answer[0::2], answer[1::2], reference[0::2], reference[1::2]
        if algorithm.loss == "simpo":
            return losses.simpo(chosen, rejected, count[0::2], count[1::2], algorithm.beta, algorithm.margin)
        loss = losses.kto if algorithm.loss == "kto" else losses.dpo
        return loss(chosen, rejected, ref_chosen, ref_rejected, algorithm.beta)

    def state(self) -> dict[str, Any]:
        return super().state() | {"reference": self.reference.state_dict(), "optimiser": self.optimiser.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.reference.load_state_dict(state["reference"])
        self.optimiser.load(state["optimiser"])
