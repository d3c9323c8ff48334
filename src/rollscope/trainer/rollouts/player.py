"""Play tasks: the policy and the environment take turns until every sample ends, then score them.

The samples of one request are generated together, one batch per turn. An exception of the
environment or of its reward function is recorded on the sample (`error`, `stop_reason="error"`),
and the sample has no reward: a failed reward function is not a wrong answer.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from rollscope.errors import BadInput
from rollscope.trainer import interrupts
from rollscope.trainer.environment import Environment, State, Task, Turn
from rollscope.trainer.failures import Faults
from rollscope.trainer.policy import tokenizer
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.reward import RewardResult, checked
from rollscope.trainer.timeline import Span, Timeline

from .sample import Generation, generate


@dataclass(slots=True)
class Sample:
    id: str
    group: str
    repeat: int
    env: str
    state: State
    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list)  # every token after the prompt
    action_mask: list[int] = field(default_factory=list)  # 1 where the policy sampled it
    rollout_logp: list[float] = field(default_factory=list)
    stop_reason: str | None = None  # None while the sample is played
    version_min: int = 0
    version_max: int = 0
    generate_seconds: float = 0.0
    tool_seconds: float = 0.0
    reward_seconds: float = 0.0
    result: RewardResult | None = None
    error: str | None = None
    reward: float = 0.0  # after shaping; advantages are computed from it
    advantage: float = 0.0
    discard_reason: str | None = None

    @property
    def task(self) -> Task:
        return self.state.task

    @property
    def completion_tokens(self) -> int:
        return sum(self.action_mask)


@dataclass(slots=True)
class Request:
    """Play each task `repeats` times. `groups` are (name of the group, task)."""

    groups: list[tuple[str, Task]]
    repeats: int
    max_completion_tokens: int
    temperature: float
    seed: int
    step: int = 0
    queued_ns: int | None = None  # when it was submitted; None: not by the dispatcher


class Player:
    """A policy in its environments, which tasks name.

    `refresh` is called between turns and may load newer weights; `cancelled` is called between
    tokens.
    """

    def __init__(
        self,
        model: Transformer,
        environments: Mapping[str, Environment],
        timeline: Timeline,
        faults: Faults | None = None,
    ) -> None:
        self.model, self.environments, self.timeline, self.faults = model, environments, timeline, faults or Faults()
        self.version = 0
        self.refresh: Callable[[], None] = lambda: None
        self.cancelled: Callable[[], bool] = lambda: False

    def play(self, request: Request) -> list[Sample]:
        """Play every sample of the request to its end, without scoring it."""
        generator = torch.Generator(device=self.model.device).manual_seed(request.seed)
        repeats = range(request.repeats)
        samples = [self._open(group, task, repeat) for group, task in request.groups for repeat in repeats]
        for turn in range(max(environment.max_turns for environment in self.environments.values())):
            interrupts.check()
            live = [sample for sample in samples if sample.stop_reason is None]
            if not live:
                break
            if turn:
                self.refresh()
            self._generate(live, samples, request, generator)
            with self.timeline.span("env_response", step=request.step, groups=_groups(live)):
                for sample in live:
                    if sample.stop_reason is None:
                        most = self.environments[sample.env].max_turns
                        self._respond(sample, last=turn + 1 == most, step=request.step)
        return samples

    def _open(self, group: str, task: Task, repeat: int) -> Sample:
        prompt = [tokenizer.BOS, *tokenizer.encode(task.prompt)]
        if len(prompt) >= self.model.config.context:
            raise BadInput(
                f"the prompt {task.prompt[:40]!r} takes {len(prompt)} tokens and model.context is"
                f" {self.model.config.context}: raise model.context"
            )
        id, version = f"{group}.{repeat}", self.version
        return Sample(id, group, repeat, task.env, State(task), prompt, version_min=version, version_max=version)

    def _generate(
        self, live: Sequence[Sample], samples: Sequence[Sample], request: Request, generator: torch.Generator
    ) -> None:
        start, start_ns = time.perf_counter(), time.time_ns()
        queued = None if live[0].ids else request.queued_ns  # a later turn does not wait in the queue
        more: dict[str, Any] = {"step": request.step, "version": self.version, "queued_ns": queued}
        with self.timeline.span("generate", groups=_groups(live), **more):
            contexts = [sample.prompt_ids + sample.ids for sample in live]
            allowance = [request.max_completion_tokens - sample.completion_tokens for sample in live]
            generations = generate(self.model, contexts, allowance, request.temperature, generator, self.cancelled)
            self.faults.delay(request.step, [sample.id for sample in live], generations)
        seconds = time.perf_counter() - start
        slots = {sample.id: slot for slot, sample in enumerate(samples)}
        for sample, row in zip(live, generations, strict=True):
            self._append_generation(sample, row, seconds)
            if request.queued_ns is not None:
                lane = f"{self.timeline.lane}/{slots[sample.id]}"
                self.timeline.emit(
                    Span("decode", lane, start_ns, row.end_ns, group=sample.group, sample=sample.id, **more)
                )

    def _append_generation(self, sample: Sample, row: Generation, seconds: float) -> None:
        sample.ids += row.ids
        sample.action_mask += [1] * len(row.ids)
        sample.rollout_logp += row.logp
        sample.generate_seconds += seconds
        sample.version_max = self.version
        sample.state.turns.append(Turn("assistant", tokenizer.decode(row.ids), len(row.ids), seconds, row.stop_reason))
        if row.stop_reason != "stop":
            sample.stop_reason = row.stop_reason

    def _respond(self, sample: Sample, last: bool, step: int) -> None:
        """Append the environment's turns; end the sample if there are none or they do not fit."""
        try:
            turns = self.environments[sample.env].respond(sample.state)
        except Exception as error:
            sample.error, sample.stop_reason = _one_line(error), "error"
            return
        if turns is None:
            sample.stop_reason = "stop"
            return
        for turn in self.faults.change_turns(turns, step):
            ids = tokenizer.encode(turn.content)
            turn.tokens = len(ids)
            sample.state.turns.append(turn)
            if len(sample.prompt_ids) + len(sample.ids) + len(ids) >= self.model.config.context:
                sample.stop_reason = "length"  # the turn does not fit into the context
                return
            sample.ids += ids
            sample.action_mask += [0] * len(ids)
            sample.rollout_logp += [0.0] * len(ids)
            sample.tool_seconds += turn.seconds
            if turn.tool:
                next(t for t in reversed(sample.state.turns) if t.role == "assistant").stop_reason = "tool"
        if last:
            sample.stop_reason = "max_turns"

    def score(self, samples: Sequence[Sample], step: int = 0) -> None:
        with self.timeline.span("reward", step=step, groups=_groups(samples)):
            self.faults.delay_reward(step)
            for sample in samples:
                if sample.error is None and sample.stop_reason != "cancelled":
                    self._score(sample, step)

    def _score(self, sample: Sample, step: int) -> None:
        start = time.perf_counter()
        try:
            environment = self.environments[sample.env]
            result = environment.compute_reward(sample.state)
            result = self.faults.change_reward(result, sample.completion_tokens, step)
            result = checked(result, environment.metrics(sample.state))
            sample.result, sample.reward = result, result.total_reward
        except Exception as error:
            sample.error, sample.stop_reason = _one_line(error), "error"
        sample.reward_seconds = time.perf_counter() - start


def _groups(samples: Sequence[Sample]) -> list[str]:
    return sorted({sample.group for sample in samples})


def _one_line(error: Exception) -> str:
    """An error as `ValueError: message (file.py:12)`."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
