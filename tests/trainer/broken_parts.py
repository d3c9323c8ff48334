"""An environment and a backend that fail, to test what the loop does."""

from __future__ import annotations

import random

import torch

from rollscope.trainer import Environment, RewardResult, State, Task
from rollscope.trainer.algorithms.grpo import Grpo
from rollscope.trainer.backend import Batch


class Dying(Environment):
    """Its reward function raises for about half of the answers."""

    name = "dying"

    def draw(self, rng: random.Random) -> Task:
        return Task(f"say {rng.randint(0, 999)}:")

    def demonstrate(self, state: State, rng: random.Random) -> str:
        return rng.choice("ab")

    def compute_reward(self, state: State) -> RewardResult:
        if not state.completion.startswith("a"):
            raise ZeroDivisionError("the judge is gone")
        return RewardResult(float(len(state.completion)), {"own": 1.0})


class Hungry(Grpo):
    """Runs out of memory in its second step."""

    def train_step(self, batch: Batch) -> dict[str, float]:
        if batch.step == 1:
            raise torch.OutOfMemoryError("tried to allocate 80 GiB")
        return super().train_step(batch)
