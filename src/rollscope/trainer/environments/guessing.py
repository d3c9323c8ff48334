"""Guessing: find a secret number in several turns.

The policy writes a number; the environment answers `<` (lower) or `>` (higher), or ends the sample.
"""

from __future__ import annotations

import random

from rollscope.trainer.environment import MultiTurnEnvironment, State, Task, Turn
from rollscope.trainer.reward import RewardResult


class Guessing(MultiTurnEnvironment):
    name = "guessing"
    reward_min = 0.0
    reward_max = 1.0
    metrics_ranges = {"accuracy": (0.0, 1.0)}
    max_turns = 5

    def __init__(self, largest: int = 20, skill: float = 0.6) -> None:
        self.largest, self.skill = largest, skill

    def draw(self, rng: random.Random) -> Task:
        secret, salt = rng.randint(1, self.largest), rng.randint(0, 99)  # the salt makes many tasks from few secrets
        prompt, id = f"1-{self.largest} #{salt}?", f"guess {secret} of {self.largest} #{salt}"
        return Task(prompt=prompt, answer=str(secret), data={"secret": secret}, id=id)

    def respond(self, state: State) -> list[Turn] | None:
        secret, guess = state.task.data["secret"], state.last
        if not guess.isdigit():
            return [Turn("environment", "!")]
        if int(guess) == secret:
            return None
        return [Turn("environment", "<" if secret < int(guess) else ">")]

    def bounds(self, state: State) -> tuple[int, int]:
        """The lowest and highest number that the answers so far allow."""
        low, high = 1, self.largest
        for guess, answer in zip(state.turns[::2], state.turns[1::2], strict=False):
            if guess.content.isdigit():
                low, high = (low, int(guess.content) - 1) if answer.content == "<" else (int(guess.content) + 1, high)
        return low, max(low, high)

    def demonstrate(self, state: State, rng: random.Random) -> str:
        low, high = self.bounds(state)
        return str((low + high) // 2 if rng.random() < self.skill else rng.randint(1, self.largest))

    def compute_reward(self, state: State) -> RewardResult:
        right = float(state.last == state.task.answer)
        guesses = sum(turn.role == "assistant" for turn in state.turns)
        wasted = sum(turn.content == "!" for turn in state.turns)
        reward = right * (1.0 - 0.1 * (guesses - 1))
        metrics = {"accuracy": right, "guesses": float(guesses), "wasted": float(wasted)}
        return RewardResult(reward, metrics, answer=state.last)
