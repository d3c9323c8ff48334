"""Groups without reward spread, compared with the share that the prompts' pass rates predict."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10
CERTAIN = 8  # steps, where every group of every step is dead
SYSTEMATIC = 0.9  # share of failures among dead groups that suggests a fault, not hard prompts
CHECKS = {
    "fail": ("Are answers cut or in error? length/truncated, stop reasons", "Read one group side by side"),
    "pass": ("Which prompts are always solved?", "Is the evaluation still rising?"),
    "": ("Do they all fail or all pass? group/all_fail, group/all_pass", "Can the reward tell answers apart?"),
}
ADVICE = {
    "fail": Advice("Check grader and time limits first; then easier prompts or more answers for each", "miles, DAPO"),
    "pass": Advice("Bring harder prompts: those solved in 30 to 70 % of tries teach most", "DAPO, MiMo"),
    "": Advice("Sample until groups differ, and leave equal ones out", "DAPO, dynamic sampling"),
}


@rule(
    "dead-groups",
    needs=("group/zero_spread",),
    optional=("group/zero_spread_expected", "group/all_fail", "group/all_pass", REWARD, AboutRun()),
)
def dead_groups(
    dead: Series,
    expected: Series | None = None,
    failing: Series | None = None,
    passing: Series | None = None,
    reward: Series | None = None,
    about: About | None = None,
    *,
    watch: float = 0.5,
    bad: float = 0.8,
    margin: float = 0.15,
) -> Iterator[Finding]:
    """Most groups have no spread: all answers to a prompt earn the same, so they teach nothing.

    Some such groups are normal: with K answers, a prompt solved with probability p gives p^K +
    (1-p)^K of them. A larger share has a cause: the prompts have become too hard or too easy, the
    reward cannot tell answers apart, or, if they all fail, a systematic fault such as truncation or
    a time limit.
    """
    start, now = _stretch(dead, watch, 1 if _starved(about) else CERTAIN)
    if start is None or (now < 0.99 and about is not None and about.algorithm == "ppo"):
        return  # a critic compares an answer with what it expected, not with its group
    kind = _kind(now, failing, passing, reward)
    predicted = _last_mean(expected)
    if predicted is None and kind == "pass":
        predicted = _solved_whole(reward, about)
    if predicted is not None and now < predicted + margin:
        return  # the pass rates predict as many
    constant = now > 0.99 and reward is not None and float(np.ptp(reward.value[-CERTAIN:])) == 0.0
    systematic = kind == "fail" and _last_mean(failing) is not None
    yield Finding(
        step=int(dead.step[start]),
        claim=_claim(kind, constant, systematic),
        evidence=_evidence(now, predicted, failing, passing),
        severity="bad" if systematic or now > bad else "watch",
        metrics=(dead.name, "group/zero_spread_expected", "group/all_fail", "group/all_pass"),
        check=CHECKS[kind],
        advice=(ADVICE[kind],),
        samples="discard_reason = 'zero_advantage'",
    )


def _solved_whole(reward: Series | None, about: About | None) -> float | None:
    """The share of groups that pass as a whole if every prompt is solved as often as the mean.

    None where the size of a group is not known, or the reward is no share of solved answers.
    """
    size = about.setting("num_generations", "group_size", "num_samples_per_prompt") if about is not None else None
    if (
        not isinstance(size, int)
        or size < 2
        or reward is None
        or not 0 <= reward.value.min() <= reward.value.max() <= 1
    ):
        return None
    return float(np.mean(reward.value[-PATIENCE:])) ** size


def _starved(about: About | None) -> bool:
    """Did the run end because nothing was left to train on? Else its last step is a torso."""
    words = ("starved", "nothing to train on", "all discarded", "no training data")
    return about is not None and about.state == "crashed" and any(word in about.reason.lower() for word in words)


def _stretch(dead: Series, watch: float, certainly: int) -> tuple[int | None, float]:
    """Where the dead stretch began, and the share now. A few steps do if every group is dead."""
    share = average(dead.value, PATIENCE)
    start = last_stretch(share >= watch)
    if len(share) - start >= PATIENCE:
        began = start - int(np.argmin(dead.value[max(0, start - PATIENCE) : start + 1][::-1] >= watch))
        return min(start, began + 1) if start else start, float(share[-1])
    certain = last_stretch(dead.value >= 0.999)
    if len(dead) - certain >= certainly:
        return certain, 1.0
    return None, 0.0


def _kind(now: float, failing: Series | None, passing: Series | None, reward: Series | None) -> str:
    """Do the dead groups fail, or pass?"""
    failed, passed = _last_mean(failing), _last_mean(passing)
    if failed is not None and now > 0 and failed / now >= SYSTEMATIC:
        return "fail"
    if passed is not None and now > 0 and passed / now >= SYSTEMATIC:
        return "pass"
    if failed is None and reward is not None and reward.value.min() >= 0 and reward.value.max() <= 1.2:
        mean = float(np.mean(reward.value[-PATIENCE:]))
        return "pass" if mean >= 0.85 else "fail" if mean <= 0.15 else ""
    return ""


def _claim(kind: str, constant: bool, systematic: bool) -> str:
    if constant:
        return "Every answer earns the same reward"
    if kind == "pass":
        return "Most groups are solved as a whole: the prompts are too easy"
    if kind == "fail":
        return "Nearly every group fails as a whole" if systematic else "Most groups fail as a whole"
    return "Most groups have no spread"


def _evidence(now: float, predicted: float | None, failing: Series | None, passing: Series | None) -> str:
    text = f"{100 * now:.0f} % of groups over the last {PATIENCE} steps"
    if predicted is not None:
        text += f", {100 * predicted:.0f} % expected from the prompts' pass rates"
    if failing is not None:
        text += f"; {100 * (_last_mean(failing) or 0):.0f} % of all groups fail completely"
    if passing is not None:
        text += f", {100 * (_last_mean(passing) or 0):.0f} % pass completely"
    return text + "."


def _last_mean(series: Series | None) -> float | None:
    return None if series is None or not len(series) else float(np.mean(series.value[-PATIENCE:]))
