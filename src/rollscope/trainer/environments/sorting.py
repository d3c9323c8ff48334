"""Sorting: write the letters in order. The answer to `sort dab:` is `abd`.

The reward is dense, so a policy learns it in seconds: a quick test of a loop.
"""

from __future__ import annotations

import random

from rollscope.trainer.environment import Environment, State, Task
from rollscope.trainer.reward import RewardResult


class Sorting(Environment):
    name = "sorting"
    reward_min = 0.0
    reward_max = 1.0
    metrics_ranges = {"accuracy": (0.0, 1.0), "in_place": (0.0, 1.0)}

    def __init__(self, length: int = 4, letters: str = "abcdefgh", skill: float = 0.3) -> None:
        self.length, self.letters, self.skill = length, letters, skill

    def draw(self, rng: random.Random) -> Task:
        word = "".join(rng.choice(self.letters) for _ in range(self.length))
        return Task(prompt=f"sort {word}:", answer="".join(sorted(word)), data={"word": word})

    def demonstrate(self, state: State, rng: random.Random) -> str:
        word = state.task.data["word"]
        return state.task.answer if rng.random() < self.skill else "".join(rng.sample(word, len(word)))

    def compute_reward(self, state: State) -> RewardResult:
        written, answer = state.completion, state.task.answer
        in_place = sum(a == b for a, b in zip(written, answer, strict=False)) / max(len(answer), len(written))
        exact = float(written == answer)
        metrics = {"accuracy": exact, "in_place": in_place}
        rewards = {"in_place": 0.5 * in_place, "exact": 0.5 * exact}
        return RewardResult(0.5 * in_place + 0.5 * exact, metrics, rewards=rewards, answer=written)
