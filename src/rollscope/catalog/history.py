"""How often each prompt was solved before: what fills in the batch key `task_pass_rate`.

Whoever sees the samples of a run in order of their steps (the recorder, a view) asks `rates` before it adds a step, so a prompt's pass rate comes
from earlier steps only. A sample passes when its reward reaches the declared maximum; without one, when it is above 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rollscope.catalog.pergroup import SAME
from rollscope.catalog.sequence import Bools, Floats, floats, reward_bounds


def passes(reward: Any, reward_min: Any = None, reward_max: Any = None, reward_ranges: Any = None, env: Any = None) -> Floats:
    """1 where a sample passed, 0 where not, NaN where it has no reward."""
    low, high = reward_bounds(reward, reward_min, reward_max, reward_ranges, env)
    earned = floats(reward)
    with np.errstate(invalid="ignore"):
        passed: Bools = np.where(np.isnan(high), earned > 0, earned >= high - SAME * np.where(high > low, high - low, 1.0))
    return np.where(np.isnan(earned), np.nan, passed.astype(np.float64))


class PassHistory:
    """Attempts and passes of every task so far."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float]] = {}  # task -> (attempts, passes)

    def rates(self, tasks: Iterable[Any]) -> Floats:
        """`task_pass_rate` of samples with these tasks: NaN before a task's first attempt.

        >>> history = PassHistory()
        >>> history.add(["a", "a", "b"], [1.0, 0.0, 1.0])
        >>> history.rates(["a", "b", "c"]).tolist()
        [0.5, 1.0, nan]
        """
        found = [self._seen.get(str(task), (0.0, 0.0)) for task in tasks]
        return np.array([passed / attempts if attempts else np.nan for attempts, passed in found], np.float64)

    def add(self, tasks: Iterable[Any], passed: Iterable[float]) -> None:
        """Take a step's attempts into the history; those without a reward (NaN) were not attempts."""
        for task, one in zip(tasks, passed, strict=True):
            if one == one:
                attempts, passes_ = self._seen.get(str(task), (0.0, 0.0))
                self._seen[str(task)] = (attempts + 1.0, passes_ + float(one))
