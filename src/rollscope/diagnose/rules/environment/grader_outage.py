"""Steps in which every answer earns nothing, while the answers are what they were."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.series import Mask
from rollscope.diagnose.curves.window import noise
from rollscope.diagnose.finding import Advice, Cost, Finding
from rollscope.diagnose.reading.known import ENTROPY, LENGTH, REWARD, REWARD_STD, ZERO_SPREAD
from rollscope.diagnose.rule import FloatArray, Series, rule

BEFORE = 8  # steps that paid, without which nothing can be said to have stopped
USUAL = 15  # of these steps, the last ones say what is usual
SIGMAS = 6.0
RECENT = 20  # steps after which it is over


@rule("grader-outage", needs=(REWARD,), optional=(ZERO_SPREAD, REWARD_STD, LENGTH, ENTROPY))
def grader_outage(
    reward: Series,
    dead: Series | None = None,
    spread: Series | None = None,
    length: Series | None = None,
    entropy: Series | None = None,
    *,
    least: float = 2.0,
) -> Iterator[Finding]:
    """All answers of a step earn nothing at once: the grader or the environment is out.

    From one step to the next the whole batch falls to the lowest reward, in every group, while
    length and entropy stay as they were. No policy forgets everything in a step and knows it again
    a few steps later. A grader that times out and returns 0 looks like this. Such steps teach
    nothing, or the wrong thing.
    """
    out = _drops(reward, _one_reward(reward, dead, spread))
    for other in (length, entropy):
        out &= ~_leaves(other, reward, out)
    steps = reward.step[out]
    if len(steps) < least:
        return
    last, share = int(reward.step[-1]), float(out.mean())
    bursts = 1 + int((np.diff(np.flatnonzero(out)) > 1).sum())
    yield Finding(
        step=int(steps[0]),
        until=None if last - int(steps[-1]) < RECENT else int(steps[-1]),
        moments=tuple(int(step) for step in steps) if bursts > 1 else (),
        claim="The grader pays nothing in bursts" if bursts > 1 else "Suddenly every answer earns nothing",
        evidence=f"{len(steps)} steps in {bursts} stretch{'es' if bursts > 1 else ''}, the first at {int(steps[0]):,}: "
        f"all groups earn {float(reward.value[out].min()):g}, {float(np.median(reward.value[~out])):.2g} is usual; "
        "length and entropy did not change.",
        severity="bad",
        metrics=(reward.name, "group/zero_spread", "reward/generated/std"),
        check=(
            "The grader's log at these steps: time limits, errors, a service that was down",
            "A sample of such a step that looks right",
        ),
        advice=(
            Advice("Let a grader that fails say so instead of paying 0, and leave its samples out", "NeMo-Gym#2552"),
        ),
        samples=f"step in ({', '.join(str(int(step)) for step in steps[:5])})",
        cost=Cost(share, why="steps in which nothing was graded"),
    )


def _one_reward(reward: Series, dead: Series | None, spread: Series | None) -> Mask:
    """The steps in which all answers earn the same."""
    same = np.zeros(len(reward), bool)
    if dead is not None:
        same |= dead.at(reward.step) >= 0.999
    if spread is not None:
        same |= spread.at(reward.step) == 0
    return same


def _drops(reward: Series, same: Mask) -> Mask:
    """Those of them that earn the least of all, far below what was usual before."""
    lowest = same & (reward.value <= float(reward.value.min()) + 1e-9)
    paid = reward.value[~lowest]
    count = np.cumsum(~lowest)
    out, most = np.zeros(len(reward), bool), max(SIGMAS * noise(paid), 0.1 * float(np.ptp(reward.value)))
    for i in np.flatnonzero(lowest):
        before = paid[max(0, count[i] - USUAL) : count[i]]
        out[i] = len(before) >= BEFORE and float(np.median(before)) - reward.value[i] > most
    return out


def _leaves(other: Series | None, reward: Series, out: Mask) -> Mask:
    """The steps in which the answers are other ones, too: then the policy broke, not the grader."""
    if other is None or not out.any():
        return np.zeros(len(reward), bool)
    value = other.at(reward.step)
    known = np.isfinite(value) & ~out
    if known.sum() < BEFORE:
        return np.zeros(len(reward), bool)
    gap = np.abs(value - _held(value, known))
    most = max(SIGMAS * noise(value[known]), 0.25 * abs(float(np.median(value[known]))))
    return np.asarray(np.nan_to_num(gap, nan=0.0) > most)


def _held(value: FloatArray, known: Mask) -> FloatArray:
    """At each point the median of the last known ones before it."""
    places = np.flatnonzero(known)
    ends = np.searchsorted(places, np.arange(len(value)))
    return np.array([np.median(value[places[max(0, e - USUAL) : e]]) if e else value[places[0]] for e in ends])
