"""Calculator: products too large for the policy, and a tool that computes them.

For `31*47?` the policy writes `[calc(31*47)]`, reads `{1457}` and answers `1457`.
"""

from __future__ import annotations

import random
import re

from rollscope.trainer.environment import State, Task, ToolEnvironment
from rollscope.trainer.reward import RewardResult


def calc(arguments: str) -> str:
    match = re.fullmatch(r"(\d+)([*+])(\d+)", arguments)
    if not match:
        raise ValueError("a*b or a+b")
    a, sign, b = match.groups()
    return str(int(a) * int(b) if sign == "*" else int(a) + int(b))


def neg(arguments: str) -> str:
    """A useless tool: a policy that calls it shows up in the tool metrics."""
    return str(-int(arguments))


class Calculator(ToolEnvironment):
    name = "calculator"
    reward_min = 0.0
    reward_max = 1.0
    metrics_ranges = {"accuracy": (0.0, 1.0), "tool_success_rate": (0.0, 1.0)}
    tools = (calc, neg)
    max_turns = 3

    def __init__(self, digits: int = 2, skill: float = 0.7) -> None:
        self.digits, self.skill = digits, skill

    def draw(self, rng: random.Random) -> Task:
        low, high = 10 ** (self.digits - 1), 10**self.digits - 1
        question = f"{rng.randint(low, high)}{rng.choice('*+')}{rng.randint(low, high)}"
        return Task(prompt=f"{question}?", answer=calc(question), data={"question": question})

    def demonstrate(self, state: State, rng: random.Random) -> str:
        if state.calls and state.calls[-1].ok:
            return state.calls[-1].content.strip("{}")
        question = state.task.data["question"]
        wrong = f"[neg({question.split('*')[0].split('+')[0]})]"
        if rng.random() < self.skill:
            return f"[calc({question})]"
        return rng.choice([wrong, f"[calc({question}*)]", str(rng.randint(1, 9999))])

    def compute_reward(self, state: State) -> RewardResult:
        right = float(state.last == state.task.answer)
        return RewardResult(right, {"accuracy": right}, answer=state.last)
