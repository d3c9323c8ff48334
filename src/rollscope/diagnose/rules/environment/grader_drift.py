"""The same answer, another reward: the grader changed under the run."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf, FromSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.repeated_answers import Drift, drift
from rollscope.diagnose.rule import Series, rule


@rule("grader-drift", needs=(FromSamples("answers_read"), CaseOf()))
def grader_drift(read: Series, case: Case, *, least: float = 3.0, share: float = 0.05) -> Iterator[Finding]:
    """Byte-identical answers to one prompt earn different rewards: the grader drifts, or is noisy.

    Within a step it is noise of the grader. Between steps, with the same answer paid alike before
    and alike after, somebody changed it: a new judge, a new version, another prompt of the judge.
    Every trend across that step is then worthless.
    """
    seen: Drift = drift(case.run, case.step)
    if seen.changed < least or seen.changed < share * seen.repeated:
        return
    between = seen.inside < 0.5 * seen.changed
    yield Finding(
        step=seen.step,
        claim="The grader changed: the same answer earns another reward" if between else "The grader is noisy",
        evidence=f"{seen.changed} of {seen.repeated} answers that were given more than once earn different rewards"
        + (f"; one earned {seen.example[0]:g} and then {seen.example[1]:g}." if seen.example else "."),
        severity="bad" if between and seen.changed >= 2 * least else "watch",
        metrics=("reward/generated/mean", "reward/generated/std"),
        check=("The two samples side by side", "reward_version at both steps"),
        advice=(Advice("Pin the version of the grader, and score a set of anchors again at every change", "rldk"),),
        sample_ids=seen.samples,
    )
