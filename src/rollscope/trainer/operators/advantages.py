"""The operator that compares a sample with its group.

It computes the group stage of the estimator. Whitening over a batch happens later, in the backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rollscope.trainer.algorithms.advantages import group_stage
from rollscope.trainer.rollouts.player import Sample


@dataclass(slots=True)
class GroupAdvantages:
    estimator: str
    name: str = "group_advantages"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        for group in groups:
            values = group_stage(self.estimator, torch.tensor([s.reward for s in group]), [s.group for s in group])
            for sample, value in zip(group, values.tolist(), strict=True):
                sample.advantage = value
        return list(groups)
