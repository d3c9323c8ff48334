"""The metrics of a batch, for all samples and per environment, with the help of what the run knows.

The run knows declared ranges, how often each task was passed before, and what was counted before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rollscope.catalog.compute.shape import is_single
from rollscope.record.caller.device import array
from rollscope.record.loss import Losses

BEFORE = frozenset({"tokens_before", "samples_before", "episodes_before"})  # the run's: an environment starts at 0


class RunContext:
    """What the run knows and a batch does not: declared ranges, and the history of each task."""

    def __init__(self) -> None:
        self.declared: dict[str, dict[str, Any]] = {}  # environment ("" = all) -> facts of `declare`
        self._attempts: dict[Any, list[float]] = {}  # task -> [passed, tried] in steps that are over
        self._pending: dict[int, list[tuple[Any, bool]]] = {}  # step -> (task, passed), not yet history
        self._met: set[str] = set()  # environments that samples came from

    def declare(self, env: str | None, facts: dict[str, Any]) -> dict[str, Any]:
        """Add declared facts.

        Returns everything declared so far, as the `declared` column holds it.
        """
        ranges = facts.pop("ranges", None)
        declared = self.declared.setdefault(env or "", {})
        declared |= facts
        if ranges:
            self.declared.setdefault("", {}).setdefault("ranges", {}).update(ranges)
        environments = {name: dict(declared) for name, declared in self.declared.items() if name}
        return {"environments": environments, **self.declared.get("", {})}

    def meet(self, batch: Mapping[str, Any]) -> None:
        """Remember which environments the samples of a batch come from."""
        env = batch.get("env")
        if env is not None:
            self._met |= {str(env)} if is_single(env) else set(map(str, _as_list(env)))

    @property
    def several(self) -> bool:
        """Does the run have several environments, as far as was declared or seen?"""
        return len(self._met | {name for name in self.declared if name}) > 1

    def add_to(self, batch: dict[str, Any], step: int) -> dict[str, Any]:
        """The batch with what the run knows. What the batch itself says takes precedence."""
        known = self._reward_ranges() | self._metrics_ranges()
        if "task" in batch:
            known["task_pass_rate"] = self._pass_rates(batch["task"], step)
        return {**known, **batch}

    def _reward_ranges(self) -> dict[str, Any]:
        ranges = {
            env: (declared.get("reward_min"), declared.get("reward_max"))
            for env, declared in self.declared.items()
            if env and "reward_min" in declared
        }
        known: dict[str, Any] = {"reward_ranges": ranges} if ranges else {}
        everywhere = next(iter(self.declared.values())) if len(self.declared) == 1 else self.declared.get("", {})
        return known | {key: everywhere[key] for key in ("reward_min", "reward_max") if everywhere.get(key) is not None}

    def _metrics_ranges(self) -> dict[str, Any]:
        ranges: dict[str, Any] = {}
        for declared in self.declared.values():
            ranges |= declared.get("metrics_ranges", {})
        return {"metrics_ranges": ranges} if ranges else {}

    def _pass_rates(self, tasks: Any, step: int) -> Any:
        self._settle(step)
        attempts = [self._attempts.get(task) for task in _as_list(tasks)]
        return np.array([np.nan if entry is None else entry[0] / entry[1] for entry in attempts])

    def _settle(self, step: int) -> None:
        """Make earlier steps history."""
        for earlier in [s for s in self._pending if s < step]:
            for task, passed in self._pending.pop(earlier):
                entry = self._attempts.setdefault(task, [0.0, 0.0])
                entry[0] += passed
                entry[1] += 1

    def learn(self, batch: Mapping[str, Any], step: int) -> None:
        """Remember which tasks were passed in this step.

        A task is passed by a reward at the declared maximum, or above zero where none is declared.
        """
        if "task" not in batch or batch.get("reward", batch.get("score")) is None:
            return
        reward = np.asarray(array(batch.get("reward", batch.get("score"))), np.float64)
        tasks = _as_list(batch["task"])
        if reward.ndim != 1 or len(tasks) != len(reward):
            return
        top = self._highest_rewards(batch, len(reward))
        passed = np.where(np.isnan(top), reward > 0, reward >= top - 1e-6 * np.abs(top))
        self._pending.setdefault(step, []).extend(
            (task, bool(p)) for task, p, r in zip(tasks, passed, reward, strict=True) if not np.isnan(r)
        )

    def _highest_rewards(self, batch: Mapping[str, Any], count: int) -> Any:
        """The declared maximum of each sample's reward; NaN where none is declared."""
        env = batch.get("env", "")
        envs = [env] * count if isinstance(env, str) else _as_list(env)
        tops = {
            name: declared["reward_max"]
            for name, declared in self.declared.items()
            if declared.get("reward_max") is not None
        }
        only = next(iter(tops.values())) if len(tops) == 1 else np.nan
        return np.array([tops.get(name, tops.get("", only)) for name in envs], np.float64)


def _as_list(values: Any) -> list[Any]:
    return list(array(values).tolist() if hasattr(array(values), "tolist") else values)


def tells_outcomes(keys: Collection[str]) -> bool:
    """Whether a batch with these keys says which tasks were passed."""
    return "task" in keys and ("reward" in keys or "score" in keys)


def environments(batch: Mapping[str, Any], several: bool = False) -> dict[str, Any]:
    """Environment -> mask of its samples.

    Empty if all samples come from one environment, unless the run has `several`: then a batch of
    one of them counts for that one, however the samples were split over calls.
    """
    if batch.get("env") is None or (isinstance(batch["env"], str) and not several):
        return {}
    if isinstance(batch["env"], str):
        return {batch["env"]: None}
    names = np.array([str(name) for name in _as_list(batch["env"])], object)
    unique = sorted(set(names.tolist()))
    return {name: names == name for name in unique} if several or len(unique) > 1 else {}


def compute_all(
    batch: dict[str, Any], losses: Losses, names: frozenset[str] | None = None, several: bool = False
) -> list[tuple[str | None, dict[str, Any]]]:
    """[(None, metrics of the batch), (environment, its metrics), ...].

    `names` selects entries. An environment has no metrics of the step alone, such as its seconds.
    Unknown keys are reported once.
    """
    from rollscope.catalog.compute.reads import entries, entries_of_step
    from rollscope.catalog.compute.subset import take
    from rollscope.kernels import compute

    problems: list[str] = []
    results: list[tuple[str | None, dict[str, Any]]] = [(None, compute(batch, False, problems, names))]
    for env, mask in environments(batch, several).items():
        part = batch if mask is None else take(batch, mask)
        part = {key: value for key, value in part.items() if key not in BEFORE} | {"env": env}
        of_samples = (entries() if names is None else names) - entries_of_step().keys()
        results.append((env, compute(part, False, names=of_samples)))
    for problem in problems:
        losses.say(f"log_batch: {problem}")
    return results
