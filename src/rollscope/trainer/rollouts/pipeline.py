"""The data pipeline between rollout and trainer: a sequence of small operators.

An operator takes groups and returns those that remain; a dropped sample has a discard reason. The
pipeline passes dropped samples to `on_discard`, so that they are recorded under the step in
progress. It counts the samples in and out of each operator, and its time.
"""

from __future__ import annotations

import time
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
        self._counts = self._empty()

    def _empty(self) -> dict[str, dict[str, Any]]:
        names = [operator.name for operator in self.operators] + [STALE]
        return {name: {"name": name, "in": 0, "out": 0, "seconds": 0.0} for name in names}

    def __call__(self, groups: Sequence[Group]) -> list[Group]:
        for operator in self.operators:
            before = [sample for group in groups for sample in group]
            start = time.perf_counter()
            groups = operator(groups)
            self.count(operator.name, len(before), sum(map(len, groups)), time.perf_counter() - start)
            for sample in before:
                if sample.discard_reason is not None:
                    self.on_discard(sample)
        return list(groups)

    def count(self, name: str, samples_in: int, samples_out: int, seconds: float) -> None:
        row = self._counts[name]
        row["in"] += samples_in
        row["out"] += samples_out
        row["seconds"] += seconds

    def lap(self) -> list[dict[str, Any]]:
        """The counts of every operator since the last call, in order."""
        counts, self._counts = self._counts, self._empty()
        return list(counts.values())


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
