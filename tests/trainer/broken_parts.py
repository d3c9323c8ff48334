"""An environment and a backend that fail, to test what the loop does."""

from __future__ import annotations

import random
import threading

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


class Talkative(Environment):
    """Its sample metrics are whatever a reward function may have at hand."""

    name = "talkative"
    reward_min, reward_max = 0.0, 1.0
    metrics_ranges = {"letters": (0.0, 6.0)}

    def draw(self, rng: random.Random) -> Task:
        return Task(f"say {rng.randint(0, 999)}:", answer="a")

    def demonstrate(self, state: State, rng: random.Random) -> str:
        return rng.choice(["a", "b", "ab", "ba"])

    def compute_reward(self, state: State) -> RewardResult:
        text = state.completion
        metrics = {
            "letters": torch.tensor(len(text)),  # a number, wherever it lives
            "right": text == "a",
            "judge": f"it says {text!r}",
            "characters": list(text),
            "verdict": {"by": "rule", "parts": (1, 2)},
            "lock": threading.Lock(),  # no process can be sent one
            "nothing": None,
        }
        return RewardResult(float(text.startswith("a")), metrics)


class Ranged(Grpo):
    """Says between which values its own metric lies."""

    ranges = {"custom/share/first": (0.0, 1.0)}

    def train_step(self, batch: Batch) -> dict[str, float]:
        return super().train_step(batch) | {"custom/share/first": 0.25}
