"""`log_batch`: every metric a batch supports, computed off the caller's thread, for all samples and per environment.

The recorder adds what the run knows and a batch does not: declared ranges, how often each prompt was
solved before, what was counted before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rollscope.record.caller.device import array
from rollscope.record.loss import Losses

BEFORE = frozenset(
    {"tokens_before", "samples_before", "episodes_before"}
)  # of the run, not of an environment, which counts from 0


class Known:
    """What the recorder adds to batches: declared ranges, and the history of each task."""

    def __init__(self) -> None:
        self.declared: dict[str, dict[str, Any]] = {}  # environment ("" = all) -> what `declare` said
        self._attempts: dict[Any, list[float]] = {}  # task -> [passed, tried] in steps that are over
        self._now: dict[int, list[tuple[Any, bool]]] = {}  # step -> (task, passed), not yet history

    def add_to(self, batch: dict[str, Any], step: int) -> dict[str, Any]:
        """The batch with what is known beside it; what the caller said himself stands."""
        more: dict[str, Any] = {}
        everywhere = self.declared.get("", {})
        ranges = {
            env: (said.get("reward_min"), said.get("reward_max"))
            for env, said in self.declared.items()
            if env and "reward_min" in said
        }
        if ranges:
            more["reward_ranges"] = ranges
        only = next(iter(self.declared.values())) if len(self.declared) == 1 else everywhere
        for key in ("reward_min", "reward_max"):
            if only.get(key) is not None:
                more[key] = only[key]
        metrics = {
            name: pair for said in self.declared.values() for name, pair in said.get("metrics_ranges", {}).items()
        }
        if metrics:
            more["metrics_ranges"] = metrics
        if "task" in batch:
            more["task_pass_rate"] = self._pass_rates(batch["task"], step)
        return {**more, **batch}

    def _pass_rates(self, tasks: Any, step: int) -> Any:
        self._settle(step)
        tried = [self._attempts.get(task) for task in _names(tasks)]
        return np.array([np.nan if t is None else t[0] / t[1] for t in tried])

    def _settle(self, step: int) -> None:
        for earlier in [s for s in self._now if s < step]:
            for task, passed in self._now.pop(earlier):
                entry = self._attempts.setdefault(task, [0.0, 0.0])
                entry[0] += passed
                entry[1] += 1

    def learn(self, batch: Mapping[str, Any], step: int) -> None:
        """Remember which tasks were passed in this step: a reward at the declared maximum, or, without one, above zero."""
        if "task" not in batch or batch.get("reward", batch.get("score")) is None:
            return
        reward = np.asarray(array(batch.get("reward", batch.get("score"))), np.float64)
        tasks = _names(batch["task"])
        if reward.ndim != 1 or len(tasks) != len(reward):
            return
        top = self._tops(batch, len(reward))
        passed = np.where(np.isnan(top), reward > 0, reward >= top - 1e-6 * np.abs(top))
        self._now.setdefault(step, []).extend(
            (task, bool(p)) for task, p, r in zip(tasks, passed, reward, strict=True) if not np.isnan(r)
        )

    def _tops(self, batch: Mapping[str, Any], size: int) -> Any:
        envs = (
            _names(batch["env"])
            if "env" in batch and not isinstance(batch["env"], str)
            else [batch.get("env", "")] * size
        )
        tops = {env: said["reward_max"] for env, said in self.declared.items() if said.get("reward_max") is not None}
        only = next(iter(tops.values())) if len(tops) == 1 else np.nan
        return np.array([tops.get(env, tops.get("", only)) for env in envs], np.float64)


def _names(values: Any) -> list[Any]:
    return list(array(values).tolist() if hasattr(array(values), "tolist") else values)


def environments(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Environment -> which samples are of it, when there are several."""
    if "env" not in batch or isinstance(batch["env"], str):
        return {}
    names = np.array([str(name) for name in _names(batch["env"])], object)
    words = sorted(set(names.tolist()))
    return {word: names == word for word in words} if len(words) > 1 else {}


def compute_all(batch: dict[str, Any], losses: Losses) -> list[tuple[str | None, dict[str, Any]]]:
    """(environment or None, its metrics) for the whole batch and each environment in it. What was not understood is said once."""
    from rollscope.catalog.compute.subset import take
    from rollscope.kernels import compute

    problems: list[str] = []
    found: list[tuple[str | None, dict[str, Any]]] = [(None, compute(batch, strict=False, problems=problems))]
    for env, where in environments(batch).items():
        part = {key: value for key, value in take(batch, where).items() if key not in BEFORE} | {"env": env}
        found.append((env, compute(part, strict=False)))
    for problem in problems:
        losses.say(f"log_batch: {problem}")
    return found
