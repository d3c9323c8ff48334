"""The same answer, another reward: the grader changed under the run."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf, FromSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.repeated_answers import Drift, drift
from rollscope.diagnose.rule import Series, rule


@rule("grader-drift", needs=(FromSamples("answers_read"), CaseOf()))
def grader_drift(
    read: Series, case: Case, *, least: float = 3.0, share: float = 0.5, noise: float = 0.2
) -> Iterator[Finding]:
    """Byte-identical answers to one prompt earn another reward since a step: the grader changed.

    Before that step the same answer was paid alike, and after it alike again: a new judge, a new
    version, another prompt of the judge. Every trend across that step is then worthless. A judge
    that always varies is noisy, which is no change; a price for KL or length is not the grader's.
    """
    seen: Drift = drift(case.run, case.step)
    if seen.changed < least or seen.across < share or seen.within > noise:
        return
    yield Finding(
        step=seen.step,
        claim="The grader changed: the same answer earns another reward",
        evidence=f"{100 * seen.across:.0f} % of the answers that were given before step {seen.step:,} and after it "
        f"earn another reward, {100 * seen.within:.0f} % of those given twice on one side"
        + (f"; one earned {seen.example[0]:g} and then {seen.example[1]:g}." if seen.example else "."),
        severity="bad" if seen.changed >= 2 * least else "watch",
        metrics=("reward/generated/mean", "reward/generated/std"),
        check=("The two samples side by side", "reward_version at both steps"),
        advice=(Advice("Pin the version of the grader, and score a set of anchors again at every change", "rldk"),),
        sample_ids=seen.samples,
    )
