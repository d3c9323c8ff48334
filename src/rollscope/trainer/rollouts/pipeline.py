"""The data pipeline between rollout and trainer: a sequence of small operators.

An operator takes groups and returns those that remain; a dropped sample has a discard reason. The
pipeline passes dropped samples to `on_discard`, so that they are recorded under the step in
progress. It counts how many each operator dropped, and its time.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rollscope.trainer.config import Config
from rollscope.trainer.operators import advantages, filters, shaping

from .player import Sample

Group = list[Sample]
STALE = "drop_stale"  # the buffer's discards, counted like an operator


class Operator(Protocol):
    name: str

    def __call__(self, groups: Sequence[Group]) -> list[Group]: ...


class Pipeline:
    def __init__(self, operators: Sequence[Operator], on_discard: Callable[[Sample], object]) -> None:
        self.operators, self.on_discard = operators, on_discard
        self._dropped: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def __call__(self, groups: Sequence[Group]) -> list[Group]:
        for operator in self.operators:
            before = [sample for group in groups for sample in group]
            start = time.perf_counter()
            groups = operator(groups)
            self.count(operator.name, len(before) - sum(map(len, groups)), time.perf_counter() - start)
            for sample in before:
                if sample.discard_reason is not None:
                    self.on_discard(sample)
        return list(groups)

    def count(self, name: str, dropped: int, seconds: float) -> None:
        self._dropped[name] += dropped
        self._seconds[name] += seconds

    def lap(self, trained: int) -> list[dict[str, Any]]:
        """Samples in and out of every operator, in order, of a step that trains on `trained`.

        A sample may wait in the buffer for steps. Like every count of samples, these are of the
        samples settled in this step: what the last operator passes on is what is trained on.
        """
        rows, left = [], trained
        for name in (STALE, *(operator.name for operator in reversed(self.operators))):
            entered = left + self._dropped[name]
            rows.append({"name": name, "in": entered, "out": left, "seconds": self._seconds[name]})
            left = entered
        self._dropped.clear()
        self._seconds.clear()
        return rows[::-1]


def build(config: Config, on_discard: Callable[[Sample], object]) -> Pipeline:
    """The operators that a configuration asks for, in the order in which they run."""
    rollout = config.rollout
    operators: list[Operator] = [filters.Cancelled(), filters.Errors()]
    if rollout.overlong_penalty:
        operators.append(shaping.Overlong(rollout.overlong_penalty))
    if rollout.length_penalty:
        operators.append(shaping.Length(rollout.length_penalty))
    if config.algorithm.name == "grpo":
        operators.append(advantages.GroupAdvantages(config.algorithm.advantage))
        if rollout.discard_group_zero_advantage:
            operators.append(filters.ZeroAdvantage())
    return Pipeline(operators, on_discard)
