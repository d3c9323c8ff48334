"""A backend of your own: GRPO that also reports the size of its weights.

Extra keys that `train_step` returns become charts, sectioned by `/`. `ranges` fixes the axes of
those charts; it does not affect training.
"""

from __future__ import annotations

import torch

from rollscope.trainer.algorithms.grpo import Grpo
from rollscope.trainer.backend import Batch


class WeighedGrpo(Grpo):
    ranges = {"custom/weights/norm": (0.0, None), "custom/weights/moved": (0.0, 1.0)}

    def train_step(self, batch: Batch) -> dict[str, float]:
        before = torch.cat([p.detach().flatten() for p in self.policy.parameters()])
        metrics = super().train_step(batch)
        after = torch.cat([p.detach().flatten() for p in self.policy.parameters()])
        metrics["custom/weights/norm"] = after.norm().item()
        metrics["custom/weights/moved"] = (after - before).norm().item()
        return metrics
