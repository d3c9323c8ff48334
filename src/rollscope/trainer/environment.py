"""Environments: draw tasks, respond to the policy, and score its answers.

To write an environment, subclass `Environment` with `draw` (a task from a random generator) and
`compute_reward` (the reward of a finished state). `demonstrate` (what a teacher would write next)
allows a supervised warm-up. Everything after the prompt is a list of turns. The hash of a task's id
decides whether it belongs to training or to evaluation, so no task is in both.
"""

from __future__ import annotations

import random
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from rollscope.errors import BadInput

from .reward import RewardResult

EVAL_SHARE = 8  # one task in eight, by hash, is held out for evaluation
PATIENCE = 5_000  # draws in a row without a new task before `tasks` gives up


@dataclass(frozen=True, slots=True)
class Task:
    prompt: str
    answer: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""  # stable over the run; empty = the prompt
    env: str = ""  # name of its environment in the run; the trainer sets it

    @property
    def key(self) -> str:
        return self.id or self.prompt

    @property
    def split(self) -> Literal["train", "eval"]:
        return "eval" if zlib.crc32(self.key.encode()) % EVAL_SHARE == 0 else "train"


@dataclass(slots=True)
class Turn:
    role: Literal["assistant", "environment", "tool"]
    content: str
    tokens: int = 0
    seconds: float = 0.0
    stop_reason: str | None = None
    tool: str | None = None
    arguments: str | None = None
    ok: bool | None = None


@dataclass(slots=True)
class State:
    """One sample while it is played."""

    task: Task
    turns: list[Turn] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)  # for the environment's own use

    @property
    def completion(self) -> str:
        """Everything the policy wrote."""
        return "".join(turn.content for turn in self.turns if turn.role == "assistant")

    @property
    def last(self) -> str:
        """The policy's last turn."""
        return next((turn.content for turn in reversed(self.turns) if turn.role == "assistant"), "")

    @property
    def calls(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.role == "tool"]


class Environment:
    """A single-turn environment: one prompt, one answer."""

    name: str = "environment"
    reward_min: ClassVar[float | None] = None  # for readers of the run; training ignores it
    reward_max: ClassVar[float | None] = None
    metrics_ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    max_turns: int = 1

    def draw(self, rng: random.Random) -> Task:
        raise NotImplementedError(f"{type(self).__name__}.draw(rng) must return a Task")

    def compute_reward(self, state: State) -> RewardResult:
        raise NotImplementedError(f"{type(self).__name__}.compute_reward(state) must return a RewardResult")

    def demonstrate(self, state: State, rng: random.Random) -> str:
        """What a teacher would write next.

        It may be wrong: a perfect teacher leaves nothing to learn.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no demonstrate(state, rng): set warmup.steps = 0 or write one"
        )

    def respond(self, state: State) -> list[Turn] | None:
        """The environment's answer to the policy's last turn; None ends the sample."""
        return None

    def metrics(self, state: State) -> Mapping[str, Any]:
        """Sample metrics of every state; those of `compute_reward` override them."""
        return {}

    def tasks(self, split: Literal["train", "eval"], count: int, seed: int = 0) -> list[Task]:
        """`count` different tasks of a split."""
        rng = random.Random(f"{self.name} {seed}")
        tasks: dict[str, Task] = {}
        in_vain = 0
        while len(tasks) < count and in_vain < PATIENCE:
            task = self.draw(rng)
            in_vain = in_vain + 1 if task.split != split or task.key in tasks else 0
            if task.split == split:
                tasks.setdefault(task.key, task)
        if len(tasks) == count:
            return list(tasks.values())
        raise BadInput(
            f"{self.name} has only {len(tasks)} different {split} tasks, {count} were asked for:"
            " ask for fewer, or make its tasks harder"
        )


class MultiTurnEnvironment(Environment):
    """Policy and environment take turns, until `respond` returns None or `max_turns` is reached."""

    max_turns = 4

    def respond(self, state: State) -> list[Turn] | None:
        raise NotImplementedError(f"{type(self).__name__}.respond(state) must return turns, or None to end")


class ToolEnvironment(MultiTurnEnvironment):
    """The policy calls a tool by writing `[name(arguments)]`; an answer without a call is final.

    `tools` are plain functions from a string to a string.
    """

    tools: ClassVar[Sequence[Callable[[str], str]]] = ()
    call = re.compile(r"\[(\w+)\(([^\[\]]*)\)\]")

    def respond(self, state: State) -> list[Turn] | None:
        calls = self.call.findall(state.last)
        return [self._use(name, arguments) for name, arguments in calls] or None

    def _use(self, name: str, arguments: str) -> Turn:
        known = {function.__name__: function for function in self.tools}
        start = time.perf_counter()
        try:
            if name not in known:
                raise BadInput(f"no tool {name}")
            result, ok = str(known[name](arguments)), True
        except Exception as error:  # the policy reads the error, and the failure is counted
            result, ok = f"error: {error}", False
        seconds = time.perf_counter() - start
        return Turn("tool", "{" + result + "}", seconds=seconds, tool=name, arguments=arguments, ok=ok)

    def metrics(self, state: State) -> Mapping[str, Any]:
        return self.get_tool_metrics(state)

    def get_tool_metrics(self, state: State) -> dict[str, float]:
        calls = state.calls
        good = sum(bool(call.ok) for call in calls)
        metrics: dict[str, float] = {
            "total_tool_calls": len(calls),
            "tool_success_count": good,
            "tool_error_count": len(calls) - good,
            "unique_tools_used": len({call.tool for call in calls}),
        }
        if calls:  # a rate over no calls is no data, not 0
            metrics["tool_success_rate"] = good / len(calls)
        for name in [function.__name__ for function in self.tools]:
            metrics[f"{name}_calls"] = sum(call.tool == name for call in calls)
        return metrics
