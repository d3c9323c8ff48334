"""Environment and grader failures, and whether they were trained on as wrong answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import Stretch, longest, until_of
from rollscope.diagnose.curves.window import average
from rollscope.diagnose.finding import Advice, Cost, Finding
from rollscope.diagnose.needs import CaseOf, FromSamples
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.rule import Series, rule
from rollscope.views.failures import Failures, failures
from rollscope.views.health.vitals import OFFLINE, kind_of

PATIENCE = 3
OFF = 10  # steps in which most requests are called off
SURE = 0.5  # share of failures for which one step is enough
LOOK = "error is not null or stop_reason in ('error', 'aborted', 'cancelled', 'timeout')"


@rule(
    "environment-failures",
    needs=(FromSamples("failed_share"), CaseOf()),
    optional=(FromSamples("failed_trained"), FromSamples("cancelled_share")),
)
def environment_failures(
    share: Series,
    case: Case,
    trained: Series | None = None,
    cancelled: Series | None = None,
    *,
    watch: float = 0.05,
    bad: float = 0.25,
) -> Iterator[Finding]:
    """Samples fail in the environment or the grader: sandboxes, sessions, judges, requests.

    Such a failure says nothing about the answer. If it enters the loss as a reward of 0, the policy
    learns from the weather. Failures that bunch in time across tasks are the machine's; those that
    bunch in few tasks belong to the tasks. A time limit that the policy can run into should stay a
    0: a discarded timeout is an exit that it can learn to take. A request that is called off and
    not trained on is no failure unless most are: an asynchronous trainer calls off what would come
    too late, and partial rollouts are called off to go on later.
    """
    every, share = share, _without_called_off(share, cancelled)
    smooth = average(share.value, PATIENCE)
    stretch = longest(smooth > watch, PATIENCE)
    if stretch is None and float(share.value[-1]) >= SURE:
        stretch = longest(share.value >= SURE, 1)
    if stretch is None:
        return
    first, last = int(share.step[stretch.start]), int(share.step[stretch.end])
    level = float(share.value[stretch.start : stretch.end + 1].mean())
    seen = failures(case.run, first, last, called_off=share is every)
    zeros = _mean(trained, first, last)
    if seen.by_task and not zeros and not seen.moved_baseline and level < bad:
        return  # few tasks, and nothing of them is trained on
    yield Finding(
        step=first,
        until=until_of(share, stretch),
        claim=_claim(seen, zeros),
        evidence=_evidence(level, zeros, seen, last - first + 1),
        severity="bad" if level >= bad or zeros >= watch else "watch",
        metrics=("stop/error", "discarded/reason/error", "reward/generated/mean"),
        check=(
            f"The error that most of them share: {seen.causes[0][0][:80]}" if seen.causes else "Their stop reasons",
            "Do they begin at one time, on one worker, or in some tasks?",
            "Are they in the loss? trained, discard_reason",
        ),
        advice=(
            Advice("Mask only what the policy cannot cause, and keep masked rows out of the baseline", "NeMo-Gym#3351"),
            Advice("Try missing members of a group again", "fw-ai/cookbook#692"),
        ),
        samples=LOOK,
        sample_ids=seen.samples,
        cost=Cost(level, seen.count, seen.tokens, why="samples that failed outside the policy"),
    )


def _without_called_off(share: Series, cancelled: Series | None) -> Series:
    """The share of failures, without what was called off, unless that is most of many steps."""
    if cancelled is None:
        return share
    off = np.nan_to_num(cancelled.at(share.step))
    most = longest(average(off, OFF) >= SURE, OFF)
    return share if most is not None else Series(share.step, share.value - off, share.name)


def _claim(seen: Failures, zeros: float) -> str:
    if zeros > 0.01:
        return "Failures of the environment are trained on as wrong answers"
    cause = seen.causes[0][0].lower() if seen.causes else ""
    if any(word in cause for word in ("reward", "judge", "grader", "verif")):
        return "The grader fails"
    if cause in ("cancelled", "aborted"):
        return "Requests are cancelled before they end"
    return "Some tasks fail in the environment" if seen.by_task else "The environment fails"


def _evidence(level: float, zeros: float, seen: Failures, steps: int) -> str:
    text = f"{100 * level:.0f} % of samples over {steps} step{'s' if steps > 1 else ''} ({seen.count:,} in all)"
    if zeros > 0:
        text += f", {100 * zeros:.0f} % of all samples trained with a reward of 0"
    if seen.moved_baseline:
        text += f"; {seen.moved_baseline:,} masked ones still moved the mean of their group"
    for cause, count in seen.causes[:1]:
        text += f". {100 * count / max(1, seen.count):.0f} % say: {cause[:120]}"
    return text + f". {seen.where}"


def _mean(series: Series | None, first: int, last: int) -> float:
    if series is None:
        return 0.0
    inside = (series.step >= first) & (series.step <= last)
    return float(series.value[inside].mean()) if inside.any() else 0.0


@rule("time-limit-zeros", needs=(FromSamples("zero_at_limit"), FromSamples("longest_seconds")), optional=(CaseOf(),))
def time_limit_zeros(
    share: Series, longest_of: Series, case: Case | None = None, *, watch: float = 0.05, bad: float = 0.2
) -> Iterator[Finding]:
    """Samples earn 0 at a time limit: many end within two per cent of the same longest time.

    The limit decides, not the answer. A limit that is too short for honest work teaches the policy
    to be quick, not right. If the policy can cause it, the 0 should stay, and the limit be looked
    at.
    """
    stretch = longest(average(share.value, 5) > watch, 5)
    if stretch is None or not _is_a_wall(share, longest_of, stretch) or _is_offline(case):
        return
    level = float(share.value[stretch.start : stretch.end + 1].mean())
    yield Finding(
        step=int(share.step[stretch.start]),
        until=until_of(share, stretch),
        claim="Samples earn nothing because their time ran out",
        evidence=f"{100 * level:.0f} % of samples end within 2 % of the longest time of their step, with no reward.",
        severity="bad" if level >= bad else "watch",
        metrics=("sample_time/generate/max", "reward/generated/mean"),
        check=("The time limit of environment, tools and grader", "The longest samples: were they on the way?"),
        advice=(Advice("Raise the limit, or log a timeout as its own stop reason", "rllm#710: 76 of 178 were cut"),),
        samples="reward <= 0",
    )


def _is_offline(case: Case | None) -> bool:
    """Were the samples made before the run? Then their times say nothing about its limits."""
    return case is not None and kind_of(case.run, case.meanings()).name in OFFLINE


def _is_a_wall(share: Series, longest_of: Series, stretch: Stretch) -> bool:
    """Is the longest time the same in every step? A batch that ends together differs each time."""
    steps = share.step[stretch.start : stretch.end + 1][share.value[stretch.start : stretch.end + 1] > 0]
    times = longest_of.at(steps)
    times = times[np.isfinite(times)]
    return len(times) >= 3 and float(np.ptp(times)) <= 0.05 * float(np.median(times))


@rule("tool-failures", needs=(FromSamples("tool_failure_share"),), optional=("turns/generated/mean",))
def tool_failures(
    share: Series, turns: Series | None = None, *, watch: float = 0.2, bad: float = 0.6
) -> Iterator[Finding]:
    """Tools fail: a large part of the calls comes back with an error.

    If it began at once, the tool is down or its interface changed; if it grew, the policy learns to
    call it wrongly. Either way the answers after it are guesses.
    """
    first = float(np.median(share.value[: min(10, max(1, len(share) // 4))]))
    recent = average(share.value, 3)
    level = watch if first < watch else min(0.95, max(2 * first, watch))
    stretch = longest(recent >= level, 3) or (longest(share.value >= 0.9, 1) if first < 0.5 else None)
    if stretch is None or not stretch.holds:
        return
    now = float(max(recent[stretch.end], share.value[stretch.end]))
    at = int(share.step[stretch.start])
    yield Finding(
        step=at,
        claim="Tool calls fail",
        evidence=f"{100 * now:.0f} % of calls fail now, {100 * first:.0f} % at the opening.",
        severity="bad" if now >= bad else "watch",
        metrics=("tool/failure_share", "tool/calls/generated/mean", "turns/generated/mean"),
        check=("The result of a failed call", "Which tool: tool/by_name", "Did it begin at once or grow?"),
        advice=(Advice("Watch the failure rate of every tool, and stop the run while one is down", "langcopilot"),),
        samples="tool_failures > 0",
    )
