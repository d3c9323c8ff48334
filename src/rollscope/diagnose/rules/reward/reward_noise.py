"""A reward that does not follow the score it is made from: advantages are noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import robust_spread
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import FromSamples
from rollscope.diagnose.reading.known import REWARD_STD
from rollscope.diagnose.rule import Series, rule

PATIENCE = 5
WIDTH = 9  # points whose median is the level: few samples of a step are read
SMALL = 0.2  # of the variance at the opening
EXACT = 1e-6  # of the variance: the reward was its parts, to the last digit


@rule("reward-noise", needs=(FromSamples("added_share"),), optional=(FromSamples("added_per_token"), REWARD_STD))
def reward_noise(
    added: Series,
    per_token: Series | None = None,
    spread: Series | None = None,
    *,
    watch: float = 0.4,
    bad: float = 0.7,
) -> Iterator[Finding]:
    """The reward no longer follows its parts: something is added that varies as much as they do.

    At the opening the reward was the sum of its components, or the score. What came since is a
    judge's mood, a race in the grader, or a bug. It enters every advantage, and the policy learns
    nothing from it. A weighted sum differs from the start, and is no alarm. Nor is a small penalty
    that is left over once every answer earns the same.
    """
    now = level(added.value, WIDTH)
    start = last_stretch(now > (watch / 2 if _opened_exact(added) else watch))
    if len(now) - start < PATIENCE or start < PATIENCE or _is_price(per_token, int(added.step[start])):
        return
    if spread is not None and _is_left_over(added, spread, start):
        return
    last, first = float(np.median(now[start:])), float(np.median(added.value[: max(1, min(8, start))]))
    yield Finding(
        step=int(added.step[start]),
        claim="The reward no longer follows its parts",
        evidence=f"What is added to them has {100 * last:.0f} % of the variance of the reward, "
        f"{100 * first:.0f} % at the opening.",
        severity="bad" if last >= bad else "watch",
        metrics=("reward/generated/std", "score/generated/std"),
        check=("Two equal answers with different rewards", "What is added to the reward after scoring?"),
        advice=(Advice("Pin the grader, average several judgements, and log every term of the reward"),),
    )


def _opened_exact(added: Series) -> bool:
    """Was nothing at all added at the opening? Then half of the usual bound is much."""
    return len(added) > WIDTH and float(added.value[:WIDTH].max()) < EXACT


def _is_left_over(added: Series, spread: Series, start: int) -> bool:
    """Is what is added small beside what the reward varied by at the opening?"""
    then = float(np.median(spread.value[:WIDTH])) ** 2
    now = spread.at(added.step[start:]) ** 2 * added.value[start:]
    known = now[np.isfinite(now)]
    return len(known) > 0 and float(np.median(known)) < SMALL * then


def _is_price(per_token: Series | None, since: int) -> bool:
    """Is a steady price for each token added? Then it is no noise."""
    if per_token is None:
        return False
    slopes = per_token.value[per_token.step >= since]
    return len(slopes) >= 3 and robust_spread(slopes) < 0.1 * abs(float(np.median(slopes)))
