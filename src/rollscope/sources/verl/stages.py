"""The stages of veRL's steps as spans: when each began and ended, measured in the driver.

veRL logs how long a stage took, not when it began. We listen to the methods that are stages, and
place the stages that are no methods by how long they took, in the order of the loop.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.wrap import around

TIMING = "timing_s/"
PLACED = "from durations, in the order of the stages"
STAGES = (  # in the order of the loop
    *("start_profile", "gen", "gen_max", "reward", "old_log_prob", "ref", "values", "adv"),
    *("update_critic", "update_actor", "update_weights"),
)
STEP = "step"
METHODS = {  # of the trainer, or of a part of it -> the stage that it is
    "step": STEP,  # of the V1 trainer, which hands out its prompts in here before it waits for samples
    "replay_buffer.sample": "gen",
    "async_rollout_manager.generate_sequences": "gen",
    "_compute_reward_colocate": "reward",
    "_compute_old_log_prob": "old_log_prob",
    "_compute_ref_log_prob": "ref",
    "_compute_values": "values",
    "_compute_advantage": "adv",
    "_update_critic": "update_critic",
    "_update_actor": "update_actor",
    "_save_checkpoint": "save_checkpoint",
    "_validate": "testing",
    "checkpoint_manager.update_weights": "update_weights",
    "standalone_checkpoint_manager.update_weights": "update_weights",
}


class Span(NamedTuple):
    name: str
    start: int
    end: int
    placed: str | None = None  # how, if it was not measured


class Stages:
    """Measures the stages of one trainer until its logger is called."""

    def __init__(self, trainer: Any = None) -> None:
        self._open: list[tuple[str, int]] = []
        self._measured: list[Span] = []
        for path, stage in METHODS.items() if trainer is not None else ():
            self._watch(trainer, path, stage)

    @quiet
    def _watch(self, trainer: Any, path: str, stage: str) -> None:
        *parts, name = path.split(".")
        owner = getattr(trainer, parts[0], None) if parts else trainer
        if callable(getattr(owner, name, None)) and not _awaited(getattr(owner, name)):
            around(owner, name, lambda *_: self._begin(stage), self._end)

    def _begin(self, stage: str) -> None:
        self._open.append((stage, time.time_ns()))

    def _end(self) -> None:
        stage, start = self._open.pop()
        if all(outer == STEP for outer, _ in self._open):  # what a validation waits for is part of it
            self._measured.append(Span(stage, start, time.time_ns()))

    def spans(self, values: Mapping[str, float], now: int) -> list[Span]:
        """The step that was logged now, its measured stages, and the others placed between them.

        A trainer may log more than once in a step: only one call says how long the step was.
        """
        total = values.get(f"{TIMING}step")
        if total is None:
            return []
        measured, self._measured = self._measured, []
        length = round(total * 1e9)
        begun = {span.name: span.start for span in reversed(measured)}
        start = begun.get(STEP, begun.get("gen", now - length))
        stages = [span for span in measured if span.name != STEP]
        return [Span(STEP, start, start + length, PLACED), *stages, *_placed(values, stages, start)]


def _placed(values: Mapping[str, float], measured: list[Span], start: int) -> Iterator[Span]:
    at = start
    for stage in STAGES:
        ends = [span.end for span in measured if span.name == stage]
        seconds = values.get(TIMING + stage)
        if ends:
            at = max(ends)
        elif seconds is not None:
            yield Span(stage, at, at + round(seconds * 1e9), PLACED)
            at += round(seconds * 1e9)


def _awaited(method: Any) -> bool:
    """A coroutine returns before it has run."""
    return inspect.iscoroutinefunction(method)
