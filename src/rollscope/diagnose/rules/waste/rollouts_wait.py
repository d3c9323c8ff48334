"""The rollouts wait for the trainer: the other side of the machine starves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import STEP_SECONDS
from rollscope.diagnose.rule import Series, rule
from rollscope.views.answers.signs import starved

STEPS = 10  # whose spans are read
AGE = ("staleness/max", "staleness/generated/max", "staleness/mean")


@rule("rollouts-wait", needs=(STEP_SECONDS, AGE, CaseOf()), order="tuning")
def rollouts_wait(step: Series, age: Series, case: Case) -> Iterator[Finding]:
    """The rollouts wait for the trainer: engines idle a quarter of the time, and it hardly waits.

    More is asked of the trainer than of the engines, or a bound on the age of samples holds them
    back. A run that samples and trains in turns idles by design, and is no case for this.
    """
    if len(step) < 2 * STEPS or float(age.value.max()) == 0 or not case.run.has("spans"):
        return
    last = int(step.step[-1])
    sides = starved(case.run, last - STEPS, last)
    if sides.side != "inference":
        return
    seconds = float(np.median(step.value[-STEPS:]))
    yield Finding(
        step=int(step.step[-STEPS]),
        claim="The rollouts wait for the trainer",
        evidence=f"In the last {STEPS} steps of {seconds:.2g} s they wait {100 * sides.inference:.0f} % of the time, "
        f"the trainer {100 * sides.trainer:.0f} %.",
        severity="info",
        metrics=(step.name, "time/generate", age.name),
        check=("The timeline of a step: what do the engines wait for?", "The bound on the age of samples"),
        advice=(Advice("Move GPUs from rollouts to the trainer, or let rollouts run further ahead", "verl#7601"),),
    )
