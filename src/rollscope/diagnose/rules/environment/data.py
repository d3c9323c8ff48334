"""The data: prompts in two groups, evaluation prompts in training, the wrong difficulty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf, Evaluations, FromSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.shared_prompts import Shared, shared_prompts
from rollscope.diagnose.rule import Series, rule


@rule("split-groups", needs=(FromSamples("split_groups"),))
def split_groups(share: Series, *, watch: float = 0.5) -> Iterator[Finding]:
    """Answers to one prompt lie in groups of their own: each is compared with itself alone.

    The samples of a step share prompts but not group ids. A group of one has no baseline, so its
    advantage is 0 or the raw reward. Repeated prompts must share the id of their group.
    """
    smooth = average(share.value, 5)
    start = last_stretch(smooth >= watch)
    if len(smooth) - start < min(5, len(smooth)) or not len(smooth):
        return
    yield Finding(
        step=int(share.step[start]),
        claim="Answers to one prompt are in different groups",
        evidence=f"{100 * smooth[-1]:.0f} % of samples are alone in their group while others share their prompt.",
        severity="bad",
        metrics=("group/size/mean", "group/zero_spread"),
        check=("How the group id is made", "group/size/min, group/size/max"),
        advice=(Advice("Give all answers to one prompt the same group id", "Search-R1#88"),),
    )


@rule("eval-leak", needs=(Evaluations(), CaseOf()))
def eval_leak(evaluations: Sequence[Evaluation], case: Case, *, share: float = 0.02) -> Iterator[Finding]:
    """Evaluation prompts are trained on: the held-out score is no longer held out.

    The same task ids, or the very same prompts, appear in training and in the evaluation. The score
    then says how well the prompts are remembered.
    """
    seen: Shared = shared_prompts(case.run, case.step)
    if not seen.evaluated or seen.both < max(1, share * seen.evaluated):
        return
    yield Finding(
        step=seen.step,
        claim="Evaluation prompts are trained on",
        evidence=f"{seen.both} of {seen.evaluated} evaluation {seen.what} were seen in training"
        + (f", such as {seen.example[:80]!r}." if seen.example else "."),
        severity="bad",
        metrics=tuple(e.series.name for e in evaluations[:2]),
        check=("How training and evaluation sets are split", "The score on prompts that were not trained on"),
        advice=(Advice("Split by prompt before anything else, and compare exact prompts and long n-grams"),),
        sample_ids=seen.samples,
    )


@rule("wrong-difficulty", needs=(("group/all_pass",), ("group/all_fail",)), order="tuning")
def wrong_difficulty(passing: Series, failing: Series, *, watch: float = 0.3) -> Iterator[Finding]:
    """Many prompts are always solved, or never: they take part in every step and teach little.

    Prompts solved in a fifth to four fifths of the tries teach most. Filter the set, or sort it by
    difficulty; removing solved prompts while training runs has made runs unstable.
    """
    for series, what, todo in ((passing, "solved", "harder"), (failing, "never solved", "easier")):
        share = average(series.value, 20)
        if len(share) < 40 or float(np.min(share[-20:])) < watch:
            continue
        start = last_stretch(share >= watch)
        yield Finding(
            step=int(series.step[start]),
            claim=f"Many groups are {what} as a whole",
            evidence=f"{100 * share[-1]:.0f} % of the groups of the last 20 steps.",
            severity="info",
            metrics=(series.name, "group/zero_spread"),
            check=("Prompts: solved, forgotten, never solved",),
            advice=(Advice(f"Bring {todo} prompts; keep those solved in 20 to 80 % of tries", "MiMo, NeMo-Gym#1509"),),
        )
