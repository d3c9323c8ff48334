"""The data pipeline between rollout and trainer: small operators, each measured (how many samples in, how many out, how long).

An operator takes groups and gives back those that go on; a sample it drops carries the reason. What it drops is not lost: the
pipeline hands it to `settled`, so that it is recorded with its reason under the step that was being prepared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rollscope.trainer.config import Config
from rollscope.trainer.operators import advantages, filters, shaping

from .player import Sample

Group = list[Sample]
STALE = "drop_stale"  # what the buffer lets go of, counted with the operators


class Operator(Protocol):
    name: str

    def __call__(self, groups: Sequence[Group]) -> list[Group]: ...


class Pipeline:
    def __init__(self, operators: Sequence[Operator], settled: Callable[[Sample], object]) -> None:
        self.operators, self.settled = operators, settled
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
                    self.settled(sample)
        return list(groups)

    def count(self, name: str, samples_in: int, samples_out: int, seconds: float) -> None:
        row = self._counts[name]
        row["in"] += samples_in
        row["out"] += samples_out
        row["seconds"] += seconds

    def lap(self) -> list[dict[str, Any]]:
        """What every operator did since the last call, in order."""
        counts, self._counts = self._counts, self._empty()
        return list(counts.values())


def build(config: Config, settled: Callable[[Sample], object]) -> Pipeline:
    """The operators a configuration asks for, in the order they run."""
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
    return Pipeline(operators, settled)
