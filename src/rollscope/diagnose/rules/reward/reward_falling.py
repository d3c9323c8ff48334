"""Reward stays below its own best by more than noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.window import average, noise
from rollscope.diagnose.finding import Finding
from rollscope.diagnose.rule import Series, rule

WIDTH = 10  # steps averaged
PATIENCE = 15  # steps since the best before the rule speaks
SHARE = 0.15  # of the gain since the opening that must be lost
SIGMAS = 4.0  # standard errors of a WIDTH-mean


@rule(
    "reward-falling",
    needs=(("reward/generated/mean", "reward/mean", "score/generated/mean", "score/mean", "reward/trained/mean"),),
)
def reward_falling(reward: Series) -> Iterator[Finding]:
    """Reward is falling: it has been clearly below its best for a while.

    Find out what moved with it: entropy (collapse), KL (take-off), length and truncation (cut
    answers), or the reward function itself. Open the samples from the step where it turned and
    compare the groups that lost most.
    """
    if len(reward) < 2 * WIDTH + PATIENCE:
        return
    mean = average(reward.value, WIDTH)
    mean[: WIDTH - 1] = -np.inf  # too few points for a mean
    top, now = float(mean.max()), float(mean[-1])
    gained = top - float(np.mean(reward.value[:WIDTH]))
    threshold = max(SHARE * gained, SIGMAS * _noise(reward) * np.sqrt(2 / WIDTH), 0.02 * abs(top))
    best = int(np.flatnonzero(mean >= top - threshold / 4)[-1])  # the last time it was there: then it turned
    if top - now <= threshold or len(mean) - 1 - best < PATIENCE:
        return
    yield Finding(
        step=int(reward.step[best]),
        claim="Reward is falling",
        evidence=f"{now:.3g} over the last {WIDTH} steps, {top:.3g} at its best around step {int(reward.step[best])}.",
        severity="bad" if top - now > 2 * threshold else "watch",
        metrics=(reward.name, "policy/entropy", "policy/kl_ref_k3", "length/completion/generated/mean"),
        check=(
            "Entropy: did it drop suddenly?",
            "Clipped tokens: are they spiking?",
            "The groups that lost most since then",
        ),
    )


def _noise(reward: Series) -> float:
    """The noise of a step. Few prompts a step make tails, which a robust measure does not see."""
    return max(noise(reward.value), float(np.std(np.diff(reward.value)) / np.sqrt(2)))
