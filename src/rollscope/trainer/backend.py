"""The backend updates the policy: `train_step(batch)` takes a step's samples and returns metrics.

To write your own, subclass `Backend` (or an algorithm) and name it in the configuration as
`algorithm.backend = "module:Class"`. The metrics that `train_step` returns are recorded under their
own names, sectioned by `/`; `ranges` says between which values they lie. The catalogue computes its
metrics from the arrays left in `batch.arrays`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from rollscope.trainer.policy.model import Transformer, token_logps
from rollscope.trainer.rollouts.player import Sample
from rollscope.trainer.rollouts.sample import pad

from . import interrupts
from .config import Config
from .failures import Faults
from .timeline import Timeline


@dataclass(slots=True)
class Batch:
    """The samples of one update.

    The backend fills `arrays`: token level `[B, T]`, or one value per step.
    """

    step: int
    version: int  # of the policy before this update
    samples: list[Sample]
    arrays: dict[str, Any] = field(default_factory=dict)


class Backend(ABC):
    """Owns the policy and updates it."""

    # (low, high) of the metrics that `train_step` returns, for readers of the run.
    ranges: ClassVar[Mapping[str, tuple[float | None, float | None]]] = {}

    def __init__(self, config: Config, policy: Transformer, timeline: Timeline) -> None:
        self.config, self.policy, self.timeline = config, policy, timeline

    @abstractmethod
    def train_step(self, batch: Batch) -> dict[str, float]:
        """Update the policy once; return metrics by name."""

    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint needs to continue from here."""
        return {"policy": self.policy.state_dict()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])


@dataclass(slots=True)
class Tokens:
    """A step's samples as tensors.

    Position t of a `[B, T]` tensor is the t-th token after the prompt.
    """

    ids: Tensor  # [B, L] prompt and response
    response: Tensor  # [B, T] response ids
    mask: Tensor  # [B, T] 1.0 where the policy sampled the token and the loss counts it
    predictor: Tensor  # [B, T] position in the row whose output predicts token t
    rollout_logp: Tensor  # [B, T]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Tokens:
        ids = pad([s.prompt_ids + s.ids for s in samples])
        response = pad([s.ids for s in samples])
        start = torch.tensor([len(s.prompt_ids) - 1 for s in samples])
        predictor = (start[:, None] + torch.arange(response.shape[1])).clamp(max=ids.shape[1] - 1)
        mask = pad([s.action_mask for s in samples]).float()
        logp = torch.zeros(response.shape)
        for i, s in enumerate(samples):
            logp[i, : len(s.ids)] = torch.tensor(s.rollout_logp)
        return cls(ids, response, mask, predictor, logp)

    def rows(self, index: Tensor) -> Tokens:
        return Tokens(*(getattr(self, name)[index] for name in self.__slots__))

    def to(self, device: torch.device) -> Tokens:
        return Tokens(*(getattr(self, name).to(device) for name in self.__slots__))

    def outputs(self, model: Transformer) -> Tensor:
        """`[B, T, outputs]` of the model at the positions that predict the response."""
        out: Tensor = model(self.ids)
        return out.gather(1, self.predictor[..., None].expand(-1, -1, out.shape[-1]))


class Optimiser:
    """AdamW with linear warm-up and gradient clipping. Skips a step with a non-finite gradient."""

    def __init__(self, model: nn.Module, lr: float, config: Config) -> None:
        self.model, self.base, self.config = model, lr, config.optimiser
        decay = self.config.weight_decay
        self.adam = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=decay)
        self.updates = self.skipped = 0
        self.norms: list[float] = []

    @property
    def lr(self) -> float:
        return self.base * min(1.0, (self.updates + 1) / max(1, self.config.warmup_steps))

    @property
    def schedule(self) -> dict[str, float]:
        """The state of the warm-up, under the names that a scheduler of PyTorch has."""
        return {"last_epoch": float(self.updates), "base_lr": self.base, "last_lr": self.lr}

    def step(self) -> None:
        limit = self.config.max_grad_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit).item()
        self.norms.append(norm)
        if np.isfinite(norm):
            for group in self.adam.param_groups:
                group["lr"] = self.lr
            self.adam.step()
            self.updates += 1
        else:
            self.skipped += 1
        self.adam.zero_grad()

    def lap(self) -> float:
        """Mean gradient norm (before clipping) of the updates since the last call."""
        norms, self.norms = self.norms, []
        return float(np.mean(norms)) if norms else float("nan")

    def state(self) -> dict[str, Any]:
        return {"adam": self.adam.state_dict(), "updates": self.updates, "skipped": self.skipped}

    def load(self, state: Mapping[str, Any]) -> None:
        self.adam.load_state_dict(state["adam"])
        self.updates, self.skipped = state["updates"], state["skipped"]


def microbatches(rows: Tensor, size: int) -> Iterator[tuple[int, Tensor]]:
    """Yield (number, rows) of parts of at most `size` rows."""
    for number, start in enumerate(range(0, len(rows), size)):
        interrupts.check()
        yield number, rows[start : start + size]


@torch.no_grad()
def logps_of(model: Transformer, tokens: Tokens, temperature: float, size: int) -> Tensor:
    """`[B, T]` log-probabilities of the response under a model, without a gradient."""
    every = torch.arange(len(tokens.ids), device=tokens.ids.device)
    parts = [tokens.rows(rows) for _, rows in microbatches(every, size)]
    return torch.cat([token_logps(part.outputs(model), part.response, temperature)[0] for part in parts])


def with_fault(loss: Tensor, faults: Faults, step: int) -> Tensor:
    """The loss, or NaN if the failure `nan_loss` asks for it at this step."""
    return loss * float("nan") if faults.loss_is_nan and step == faults.start else loss
