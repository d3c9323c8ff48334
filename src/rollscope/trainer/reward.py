"""The result of a reward function for one sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DEPTH = 8  # of lists and mappings in a fact; what lies deeper is text


@dataclass(slots=True)
class RewardResult:
    """The reward, its components, and anything else worth recording about the sample.

    `rewards` are components that add up to the total. `sample_metrics` is anything else: its
    numbers are aggregated per step, with their Gini coefficient per group; a text, a list or a
    mapping is a fact of the sample. `answer` is the sample's final answer, for majority votes.
    """

    total_reward: float
    sample_metrics: Mapping[str, Any] = field(default_factory=dict)
    rewards: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""


def checked(result: RewardResult, metrics: Mapping[str, Any]) -> RewardResult:
    """The result with the environment's metrics, as plain data that can be sent to a process.

    Raises if the total or a component is not a number.
    """
    return replace(
        result,
        total_reward=float(result.total_reward),
        rewards={str(name): float(value) for name, value in result.rewards.items()},
        sample_metrics={str(name): plain(value) for name, value in {**metrics, **result.sample_metrics}.items()},
        tags=plain(result.tags),
        answer=str(result.answer),
    )


def numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The sample metrics that are numbers; the others are facts."""
    return {name: float(value) for name, value in metrics.items() if isinstance(value, (int, float))}


def plain(value: Any, depth: int = DEPTH) -> Any:
    """A number, a text, or lists and mappings of them. Any other object becomes its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic) or getattr(value, "ndim", None) == 0:  # of numpy or torch
        return plain(value.item(), depth - 1) if depth else str(value)
    if depth and isinstance(value, Mapping):
        return {str(name): plain(inner, depth - 1) for name, inner in value.items()}
    if depth and (isinstance(value, (list, tuple, set, frozenset)) or hasattr(value, "tolist")):
        items = value.tolist() if hasattr(value, "tolist") else value
        return [plain(inner, depth - 1) for inner in items]
    return str(value)
