"""An environment with a tool: look it up, then answer. `rollscope train examples/lookup.toml`"""

from __future__ import annotations

import random

from rollscope.trainer import RewardResult, State, Task, ToolEnvironment

MEANINGS = {"ab": "x", "ba": "y", "cab": "z", "bac": "w", "abc": "v", "cba": "u", "acb": "t", "bca": "s"}


def find(word: str) -> str:
    """A tool takes a text and returns a text. What it raises is read by the policy and counted."""
    if word not in MEANINGS:
        raise KeyError(word)
    return MEANINGS[word]


class Lookup(ToolEnvironment):
    name = "lookup"
    reward_min, reward_max = 0.0, 1.0
    metrics_ranges = {"accuracy": (0.0, 1.0), "tool_success_rate": (0.0, 1.0)}
    tools = (find,)
    max_turns = 3

    def draw(self, rng: random.Random) -> Task:
        """A task. `answer` is the golden answer, which readers see beside the policy's."""
        word, number = rng.choice(sorted(MEANINGS)), rng.randint(0, 99)
        return Task(prompt=f"{number}: {word}?", answer=MEANINGS[word], data={"word": word})

    def demonstrate(self, state: State, rng: random.Random) -> str:
        """What a teacher writes next: a call at first, then the answer that the tool gave."""
        if not state.calls:
            return f"[find({state.task.data['word']})]" if rng.random() < 0.7 else "[find(a)]"
        return state.calls[-1].content.strip("{}")[-1:]

    def compute_reward(self, state: State) -> RewardResult:
        right, used = float(state.last == state.task.answer), float(bool(state.calls))
        metrics = {
            "accuracy": right,  # a number: a chart, with its Gini coefficient per group
            "reason": f"asked for {[call.arguments for call in state.calls]}",  # a fact, shown with the sample
            **self.get_tool_metrics(state),
        }
        return RewardResult(
            total_reward=0.8 * right + 0.2 * used,
            sample_metrics=metrics,
            rewards={"right": 0.8 * right, "used_tool": 0.2 * used},
            answer=state.last,
        )
