"""A GRPO trainer that differs from TRL's where unsloth's (2026.10) does, as read in its source."""

from __future__ import annotations

from typing import Any

import torch
from trl import GRPOTrainer


class PackingTrainer(GRPOTrainer):
    """It scores tokens with each prompt's padding behind the completion, and its loss shows none.

    The rows of the scores are wider than the completions by the most padding of the batch.
    """

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        ids: Any,
        mask: Any,
        keep: int,
        batch_size: Any = None,
        compute_efficient: bool = False,
        **_: Any,
    ) -> Any:
        if compute_efficient:
            return None, None
        order = (mask == 0).int().argsort(dim=1, stable=True)
        packed, mask, width = (
            ids.gather(1, order),
            mask.gather(1, order),
            keep + int((mask[:, :-keep] == 0).sum(1).max()),
        )
        logits = model(input_ids=packed, attention_mask=mask).logits[:, -width - 1 : -1] / self.temperature
        logps = logits.log_softmax(-1).gather(2, packed[:, -width:, None])[..., 0]
        return logps.detach(), None, None

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        kept = inputs["completion_mask"]
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], kept], dim=1)
        self._get_per_token_logps_and_entropies(model, ids, mask, kept.size(1), compute_efficient=True)
        logps = super()._get_per_token_logps_and_entropies(model, ids, mask, kept.size(1))[0]
        ratio = torch.exp(logps - logps.detach())
        return -(ratio * inputs["advantages"][:, None] * kept).sum() / kept.sum()
