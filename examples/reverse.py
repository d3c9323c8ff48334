"""An environment of your own: write the word backwards. `rollscope train examples/reverse.toml`"""

from __future__ import annotations

import random

from rollscope.trainer import Environment, RewardResult, State, Task


class Reverse(Environment):
    name = "reverse"
    reward_min, reward_max = 0.0, 1.0
    metrics_ranges = {"accuracy": (0.0, 1.0), "right_length": (0.0, 1.0)}

    def __init__(self, length: int = 3, letters: str = "abcde") -> None:
        self.length, self.letters = length, letters

    def draw(self, rng: random.Random) -> Task:
        """A task. The hash of its prompt decides whether it is for training or for evaluation."""
        word = "".join(rng.choice(self.letters) for _ in range(self.length))
        return Task(prompt=f"{word}<", answer=word[::-1])

    def demonstrate(self, state: State, rng: random.Random) -> str:
        """The answer of the warm-up's teacher; it is right half of the time."""
        answer = state.task.answer
        return answer if rng.random() < 0.5 else "".join(rng.sample(answer, len(answer)))

    def compute_reward(self, state: State) -> RewardResult:
        written, answer = state.completion, state.task.answer
        right = sum(a == b for a, b in zip(written, answer, strict=False)) / max(len(written), len(answer))
        metrics = {"accuracy": float(written == answer), "right_length": float(len(written) == len(answer))}
        return RewardResult(right, metrics, tags={"first": answer[0]}, answer=written)
