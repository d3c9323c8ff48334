"""Operators that change `reward`, from which advantages are computed. The score stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollscope.trainer.rollouts.player import Sample


@dataclass(slots=True)
class Overlong:
    """Subtracts `penalty` from a sample that was cut off at the length limit."""

    penalty: float
    name: str = "overlong_penalty"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        for group in groups:
            for sample in group:
                sample.reward -= self.penalty * (sample.stop_reason == "length")
        return list(groups)


@dataclass(slots=True)
class Length:
    """Subtracts `penalty` for each token that the policy sampled."""

    penalty: float
    name: str = "length_penalty"

    def __call__(self, groups: Sequence[list[Sample]]) -> list[list[Sample]]:
        for group in groups:
            for sample in group:
                sample.reward -= self.penalty * sample.completion_tokens
        return list(groups)
