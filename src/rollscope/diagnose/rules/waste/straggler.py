"""One answer, or one rank, that everything waits for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.ratio import ratio
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf, FromSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.rule import Series, rule
from rollscope.views.answers.signs import Straggler, stragglers

LEAST = 10


@rule(
    "straggler-answers",
    needs=(("sample_time/generate/max", "sample_time/slowest/generate"), ("sample_time/generate/p50",)),
    optional=(CaseOf(), FromSamples("length_reward")),
    order="tuning",
)
def straggler_answers(
    longest: Series,
    median: Series,
    case: Case | None = None,
    inside: Series | None = None,
    *,
    watch: float = 8.0,
    least: float = 10.0,
    useful: float = 0.3,
) -> Iterator[Finding]:
    """A few answers take many times as long as the others, and the whole step waits for them.

    While the last ones are written, the engine is nearly empty. Long answers that earn more than
    the short ones of their group are worth the wait, and no alarm.
    """
    times = ratio(longest, median)
    if len(times) < LEAST:
        return
    now, seconds = float(np.median(times.value[-LEAST:])), float(np.median(longest.value[-LEAST:]))
    if now < watch or seconds < least or _earns(inside, useful):
        return
    alone = _alone(case, int(times.step[-1]))
    yield Finding(
        step=int(times.step[0]),
        claim="A few slow answers hold up each step",
        evidence=f"The slowest takes {now:.0f} times as long as the median: {seconds:.0f} s."
        + (f" For {100 * alone[0].share:.0f} % of a step fewer than a tenth are left." if alone else ""),
        severity="watch",
        metrics=(longest.name, median.name, "group/length_max_median/generated"),
        check=("The slowest samples: length, tools, worker",),
        advice=(Advice("Continue unfinished answers in the next step (partial rollouts)", "UniRL#94, RollPacker"),),
        sample_ids=tuple(one.sample for one in alone),
    )


def _earns(inside: Series | None, useful: float) -> bool:
    """Do the long answers of a group earn more than its short ones?"""
    return inside is not None and len(inside) >= LEAST and float(np.median(inside.value[-LEAST:])) >= useful


def _alone(case: Case | None, last: int) -> list[Straggler]:
    """The samples that were almost alone for the largest part of the last steps, from spans."""
    if case is None or not case.run.has("spans"):
        return []
    return sorted(stragglers(case.run, last - LEAST, last), key=lambda one: -one.share)


@rule("slow-rank", needs=(CaseOf(),), order="tuning")
def slow_rank(case: Case, *, watch: float = 1.1, least: float = 0.5) -> Iterator[Finding]:
    """One rank is slower than the others, and all of them wait for it.

    The step takes as long as its slowest rank. A hot or shared device, uneven batches or a bad link
    do this.
    """
    worst: tuple[float, str, Series] | None = None
    for name, series in case.like("time/").items():
        if not name.endswith("/slowest_rank") or "generate" in name or "evaluate" in name:
            continue
        own = case.series((name.removesuffix("/slowest_rank"),))
        times = ratio(series, own) if own is not None else None
        if times is None or len(times) < LEAST or float(np.median(series.value)) < least:
            continue
        excess = float(np.median(times.value[-LEAST:]))
        if excess > watch and (worst is None or excess > worst[0]):
            worst = excess, name, series
    if worst is None:
        return
    excess, name, series = worst
    yield Finding(
        step=int(series.step[0]),
        claim="One rank is slower than the others",
        evidence=f"{name.split('/')[1]} takes {100 * (excess - 1):.0f} % longer on the slowest rank than on the first.",
        severity="info",
        metrics=(series.name,),
        check=("Which rank it is, and whether it stays the same one", "Tokens of each rank: balance/after/imbalance"),
        advice=(Advice("Balance tokens over ranks; look at the device's clock and temperature", "arXiv 2505.05713"),),
    )
