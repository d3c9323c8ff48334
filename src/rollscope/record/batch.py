"""`log_batch`: everything a batch supports, computed off the caller's thread, for all samples and per environment.

What the caller could change in place is copied first, on the device it is on, up to a bound. What the run knows and a batch does not is added: declared ranges,
how often each prompt was solved before, what was counted before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rollscope.record.device import array, is_tensor
from rollscope.record.loss import Losses

BEFORE = frozenset({"tokens_before", "samples_before", "episodes_before"})  # of the run, not of an environment, which counts from 0
WHOLE = 1 << 30  # bytes of a batch that are copied: more would take a trainer's memory, or on the host half a second of its time


def snapshot(batch: Mapping[str, Any], refuse: Callable[[str, int], None]) -> dict[str, Any]:
    """The batch as it is now. No graph is kept, nothing is waited for.

    Logits on a device are too large to copy and quickly read: their entropy is asked for here, on the caller's stream, and stands in for them. Whatever
    else is too large is left out, the largest first, and `refuse` is told its key and its bytes: held instead of copied, it would be read after a change.
    """
    batch = _without_logits(batch)
    sizes = {key: size(value) for key, value in batch.items()}
    total = sum(sizes.values())
    for key in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if total <= WHOLE:
            break
        refuse(key, sizes[key])
        total -= sizes.pop(key)
    return {key: _copy(batch[key]) for key in batch if key in sizes}


def _without_logits(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    logits: Any = batch.get("logits")
    temperature = batch.get("temperature", 1.0)
    if not is_tensor(logits) or not logits.is_cuda or size(logits) <= WHOLE or not logits.is_contiguous() or not isinstance(temperature, (int, float)):
        return batch
    from rollscope.kernels.logits import logprob_entropy

    entropy = logprob_entropy(logits.detach().view(-1, logits.shape[-1]), None, float(temperature))[1].view(logits.shape[:-1])
    return {"entropy": entropy, **{key: value for key, value in batch.items() if key != "logits"}}


def _copy(value: Any) -> Any:
    if is_tensor(value):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def size(value: Any) -> int:
    """Bytes a batch holds, on whatever device."""
    if isinstance(value, Mapping):
        return sum(map(size, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(size, value)) if value and not isinstance(value[0], (int, float, str)) else 32 * len(value)
    return int(value.numel() * value.element_size()) if is_tensor(value) else int(getattr(value, "nbytes", 32))


class Ready:
    """When the copies on a device have been made. Computing happens on a stream of its own that waits for that; nobody on the host does."""

    _streams: ClassVar[dict[Any, Any]] = {}

    def __init__(self, batch: Mapping[str, Any]) -> None:
        self._tensors: list[Any] = []
        self._event = None
        _find(batch, self._tensors)
        if self._tensors:
            self._event = sys.modules["torch"].cuda.Event()
            self._event.record(sys.modules["torch"].cuda.current_stream(self._tensors[0].device))

    def compute(self, job: Callable[[], Any]) -> Any:
        if self._event is None:
            return job()
        torch, device = sys.modules["torch"], self._tensors[0].device
        stream = self._streams.get(device)
        if stream is None:
            stream = self._streams[device] = torch.cuda.Stream(device)
        stream.wait_event(self._event)
        for tensor in self._tensors:
            tensor.record_stream(stream)  # its memory is not given away while this stream reads it
        with torch.cuda.stream(stream):
            return job()


def _find(value: Any, tensors: list[Any]) -> None:
    """Every CUDA tensor in a batch."""
    if is_tensor(value):
        if value.is_cuda:
            tensors.append(value)
    elif isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            if not isinstance(inner, (int, float, str)):
                _find(inner, tensors)


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
        ranges = {env: (said.get("reward_min"), said.get("reward_max")) for env, said in self.declared.items() if env and "reward_min" in said}
        if ranges:
            more["reward_ranges"] = ranges
        only = next(iter(self.declared.values())) if len(self.declared) == 1 else everywhere
        for key in ("reward_min", "reward_max"):
            if only.get(key) is not None:
                more[key] = only[key]
        metrics = {name: pair for said in self.declared.values() for name, pair in said.get("metrics_ranges", {}).items()}
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
        self._now.setdefault(step, []).extend((task, bool(p)) for task, p, r in zip(tasks, passed, reward, strict=True) if not np.isnan(r))

    def _tops(self, batch: Mapping[str, Any], size: int) -> Any:
        envs = _names(batch["env"]) if "env" in batch and not isinstance(batch["env"], str) else [batch.get("env", "")] * size
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
    from rollscope.catalog.batch import take
    from rollscope.kernels import compute

    problems: list[str] = []
    found: list[tuple[str | None, dict[str, Any]]] = [(None, compute(batch, strict=False, problems=problems))]
    for env, where in environments(batch).items():
        part = {key: value for key, value in take(batch, where).items() if key not in BEFORE} | {"env": env}
        found.append((env, compute(part, strict=False)))
    for problem in problems:
        losses.say(f"log_batch: {problem}")
    return found
