"""KL to the reference gathers at the beginning of the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.opening import holding, opening
from rollscope.diagnose.curves.window import level, noise
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import Series, rule

BEGIN, MEAN = "policy/kl_ref_begin_k3", "policy/kl_ref_k3"
WIDTH = 9  # points whose median is the level
PATIENCE = 9  # points for which it must hold
FLOOR = 0.002  # nats per token of whole answers; below it a multiple means nothing
FAR = 0.1  # nats per token at the beginning: k1 of 0.1 is veRL's alert for a mismatch
OWN = 2.0  # times the run's own opening: first tokens move a policy more than others in many runs
EARNED = 0.25  # of all that the reward gained before: a gain that pays for a new beginning
SIGMAS = 2.0  # errors of a median by which a gain is one


@rule("kl-first-tokens", needs=(BEGIN, MEAN), optional=(REWARD, Evaluations()))
def kl_first_tokens(
    begin: Series,
    mean: Series,
    reward: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    *,
    times: float = 3.0,
) -> Iterator[Finding]:
    """KL to the reference gathers in the first tokens of the answers, and buys nothing.

    Learning moves a policy all along its answers. If the first eighth of an answer moves away from
    the reference and the rest does not, policy and reference often do not see the same beginning:
    a chat template, a system prompt or a start token differs. The KL penalty then pays for form.
    A policy that learns how to begin an answer does the same for a while, and its reward rises.
    """
    share = _against_mean(begin, mean)
    first = opening(share)
    if first is None:
        return
    now, far = level(share.value, WIDTH), level(begin.at(share.step), WIDTH)
    start = holding((now > max(times, OWN * first.level)) & (far > FAR), PATIENCE)
    if start is None or _earned(reward, int(share.step[start])) or improves(None, evaluations):
        return
    yield Finding(
        step=int(share.step[start]),
        claim="KL to the reference gathers in the first tokens of the answers",
        evidence=f"The first eighth of an answer is {far[-1]:.3g} nats per token away, {now[-1]:.2g} times the mean "
        f"of whole answers; at the opening it was {first.level:.2g} times.",
        severity="watch",
        metrics=(begin.name, mean.name, "reward/mean"),
        check=(
            "The exact tokens that policy and reference are given: chat template, system prompt, start token",
            "The first words of samples of then and now",
        ),
        advice=(
            Advice("Give the reference the prompt as the policy has it, token by token", "rlprobe's drift signature"),
            Advice("If the new beginning is wanted, leave the first tokens out of the KL term"),
        ),
    )


def _against_mean(begin: Series, mean: Series) -> Series:
    """The KL of the beginning over that of whole answers, where both are known."""
    whole = mean.at(begin.step)
    known = np.isfinite(whole) & (whole > FLOOR)
    return Series(begin.step[known], begin.value[known] / whole[known], begin.name)


def _earned(reward: Series | None, since: int) -> bool:
    """Did the reward gain since a step, not only noise and not little beside its gain before?"""
    if reward is None or not (reward.step < since).any():
        return False
    before = level(reward.value[reward.step < since], WIDTH)
    gained = float(np.median(reward.value[-WIDTH:])) - float(before[-1])
    error = 1.25 * noise(reward.value) * math.sqrt(2 / WIDTH)
    return gained > max(SIGMAS * error, EARNED * float(before[-1] - before.min()))
