"""Where the stages of a veRL step are on the timeline."""

from __future__ import annotations

import time
from itertools import pairwise
from types import SimpleNamespace

from rollscope.sources.verl.stages import TIMING, Span, Stages

STARTING = 0.4  # seconds until the agent loops of the first step have begun
SLACK = round(STARTING / 4 * 1e9)  # what a busy machine may take between two lines of the trainer below


class Trainer:
    """A step as the V1 trainer has it: it hands out prompts, which may take long, then samples."""

    def __init__(self) -> None:
        self.replay_buffer = SimpleNamespace(sample=lambda: time.sleep(0.01))

    def step(self, seconds: float) -> None:
        time.sleep(seconds)
        self.replay_buffer.sample()
        self._update_actor()

    def _update_actor(self) -> None:
        time.sleep(0.01)

    def _validate(self) -> None:
        self.replay_buffer.sample()


def recorded() -> list[list[Span]]:
    """The spans of two steps, the first of which begins slowly."""
    trainer = Trainer()
    stages, steps = Stages(trainer), []
    for seconds in (STARTING, 0.0):
        start = time.perf_counter()
        trainer.step(seconds)
        took = time.perf_counter() - start
        steps.append(stages.spans({f"{TIMING}step": took, f"{TIMING}adv": 0.001}, time.time_ns()))
    return steps


def test_a_step_that_begins_slowly_has_its_stages_inside_and_ends_before_the_next() -> None:
    steps = recorded()
    for step, *stages in steps:
        assert step.name == "step" and {span.name for span in stages} == {"gen", "update_actor", "adv"}
        inside = [span for span in stages if span.placed is None]
        assert all(step.start <= span.start <= span.end <= step.end + SLACK for span in inside)
    assert all(earlier[0].end <= later[0].start + SLACK for earlier, later in pairwise(steps))
    waited = next(span.start for span in steps[0] if span.name == "gen") - steps[0][0].start
    assert waited >= STARTING * 1e9, "the wait lies ahead of the first stage"


def test_what_a_validation_waits_for_is_no_stage_of_the_step() -> None:
    trainer = Trainer()
    stages = Stages(trainer)
    trainer._validate()  # before the first step
    assert stages.spans({"val-core/reward": 1.0}, time.time_ns()) == []
    trainer.step(0.0)
    trainer._validate()
    step, *inner = stages.spans({f"{TIMING}step": 0.02}, time.time_ns())
    assert [span.name for span in inner] == ["testing", "gen", "update_actor", "testing"]
    assert inner[0].end <= step.start <= inner[1].start
