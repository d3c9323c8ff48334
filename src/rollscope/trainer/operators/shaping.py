"""Operators that change the reward. The score the environment gave stays on the sample; what advantages are made from is `reward`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollscope.trainer.rollouts.player import Sample


@dataclass(slots=True)
class Overlong:
    """Takes `penalty` from a sample that was cut off at the length limit."""

    penalty: float
    name: str = "overlong_penalty"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        for group in groups:
            for sample in group:
                sample.reward -= self.penalty * (sample.stop_reason == "length")
        return list(groups)


@dataclass(slots=True)
class Length:
    """Takes `penalty` for each token the policy sampled."""

    penalty: float
    name: str = "length_penalty"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        for group in groups:
            for sample in group:
                sample.reward -= self.penalty * sample.completion_tokens
        return list(groups)
