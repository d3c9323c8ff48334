"""Countdown: make the target from the numbers, each used once, with + - and *.

An answer to `4 7 2>26:` is `7*4-2`. The reward is 1 for a well-formed expression that uses exactly
the given numbers, and 1 more if it hits the target.
"""

from __future__ import annotations

import random
import re

from rollscope.trainer.environment import Environment, State, Task
from rollscope.trainer.reward import RewardResult

OPERATIONS = "+-*"
_SHAPE = re.compile(r"\d+(?:[+\-*]\d+)*")


def value(expression: str) -> int | None:
    """The value of an expression (products first), or None if it is not an expression.

    >>> value("7*4-2"), value("7*-4"), value("")
    (26, None, None)
    """
    if not _SHAPE.fullmatch(expression):
        return None
    total = 0
    for sign, term in re.findall(r"([+-]?)([\d*]+)", expression):
        product = 1
        for factor in term.split("*"):
            product *= int(factor)
        total += -product if sign == "-" else product
    return total


class Countdown(Environment):
    name = "countdown"
    reward_min = 0.0
    reward_max = 2.0
    metrics_ranges = {"format": (0.0, 1.0), "accuracy": (0.0, 1.0), "distance": (0.0, 100.0)}

    def __init__(self, numbers: int = 3, largest: int = 9, skill: float = 0.5) -> None:
        """`skill` is the share of demonstrations that hit the target; the others miss it."""
        self.numbers, self.largest, self.skill = numbers, largest, skill

    def draw(self, rng: random.Random) -> Task:
        while True:
            numbers = [rng.randint(1, self.largest) for _ in range(self.numbers)]
            solution = self._expression(numbers, rng)
            target = value(solution)
            if target is not None and target > 0:
                prompt = f"{' '.join(map(str, numbers))}>{target}:"
                return Task(prompt=prompt, answer=solution, data={"numbers": numbers, "target": target})

    def _expression(self, numbers: list[int], rng: random.Random) -> str:
        order = rng.sample(numbers, len(numbers))
        return str(order[0]) + "".join(rng.choice(OPERATIONS) + str(n) for n in order[1:])

    def demonstrate(self, state: State, rng: random.Random) -> str:
        return state.task.answer if rng.random() < self.skill else self._expression(state.task.data["numbers"], rng)

    def compute_reward(self, state: State) -> RewardResult:
        expression, target = state.completion, state.task.data["target"]
        result = value(expression)
        uses_all = sorted(int(n) for n in re.findall(r"\d+", expression)) == sorted(state.task.data["numbers"])
        well_formed = float(result is not None and uses_all)
        hit = float(well_formed and result == target)
        metrics = {"format": well_formed, "accuracy": hit, "length_chars": float(len(expression))}
        if result is not None and uses_all:
            metrics["distance"] = float(abs(result - target))  # an answer without a value has no distance, not 0
        rewards = {"format": well_formed, "equation": hit}
        return RewardResult(well_formed + hit, metrics, rewards=rewards, answer=expression)
