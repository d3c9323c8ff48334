"""The result of a reward function for one sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class RewardResult:
    """The reward, its components, and anything else worth recording about the sample.

    `rewards` are components that add up to the total. `sample_metrics` are any other numbers; they
    are aggregated per step, with their Gini coefficient per group. `answer` is the sample's final
    answer, for majority votes.
    """

    total_reward: float
    sample_metrics: Mapping[str, float] = field(default_factory=dict)
    rewards: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
