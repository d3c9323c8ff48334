"""What a reward function says about one sample: a number, what it is made of, and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class RewardResult:
    total_reward: float
    sample_metrics: Mapping[str, float] = field(
        default_factory=dict
    )  # anything per sample; aggregated per step with its Gini per group
    rewards: Mapping[str, float] = field(default_factory=dict)  # components that add up to the total
    tags: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""  # what the sample finally answered, for majority votes
