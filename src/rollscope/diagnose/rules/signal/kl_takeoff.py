"""KL to the reference takes off. KL always grows from zero, so growth is compared with growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.window import last_stretch, level, noise
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import KL, REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import FloatArray, Series, rule

OPENING = 20  # steps before the rule judges: near zero, every run's KL multiplies
SPAN = 20  # steps over which growth is compared
WIDTH = 9  # points whose median is the level
LASTING = 3.0  # growth that must remain at the end
SIGMAS = 2.0  # times the noise of the logarithm: four errors of a ratio of two medians
FLOOR = 0.002  # nats per token; below it a multiple means nothing
AT_ONCE = 5  # steps in which a far too large update shows
STEADY = 1.5  # times what steady learning makes of a KL
GAINED = 0.15  # of the range of the reward: a gain that pays for a KL
LOST = 0.75  # of the first reward: a policy that is far away and earns no more than this was wrecked
FAR = 0.1  # nats per token: far from the reference; a k1 of 0.1 is veRL's alert for a mismatch
ADVICE = (
    Advice("Lower the learning rate, or raise the KL coefficient", "Spinning Up and SB3 stop at 1.5 times the target"),
    Advice("Is the reference really the model that training began with?", "TRL's GRPO guide"),
)


@rule("kl-takeoff", needs=(KL,), optional=(REWARD, Evaluations(), "optimiser/lr"))
def kl_takeoff(
    kl: Series,
    reward: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    rate: Series | None = None,
    *,
    times: float = 2.5,
    spent: float = 2.0,
) -> Iterator[Finding]:
    """KL to the reference took off: it grows several times faster than before, or buys nothing.

    Slow growth is learning: equal updates add up, so KL grows with the square of their number, or
    of the sum of the learning rates. A policy whose KL takes off leaves the region in which its
    reward can be trusted, and reward often falls a few steps later. A KL of many nats without any
    gain is the same, seen late. Look at the learning rate against the gradient norm, at the clip
    fraction, and at the samples of the steps where it began.
    """
    found = next(_takes_off(kl, _travelled(kl, rate), times), None)
    if found is not None and _bought(reward, found.step):
        found = None
    found = found or next(_spent(kl, reward, evaluations, spent), None) or _gone_at_once(kl, reward, spent)
    if found is not None:
        yield found


def _bought(reward: Series | None, since: int) -> bool:
    """Did the reward gain much since a step, and keep it? Then the way was worth it."""
    if reward is None or len(reward) < 2 * WIDTH or not (reward.step < since).any():
        return False
    before = float(np.median(reward.value[reward.step < since][-WIDTH:]))
    now, best = float(np.median(reward.value[-WIDTH:])), float(level(reward.value, WIDTH).max())
    gained = now - before
    return gained > GAINED * max(1.0, float(np.ptp(reward.value))) and gained > 0.5 * (best - before)


def _gone_at_once(kl: Series, reward: Series | None, most: float) -> Finding | None:
    """The first updates took the policy far away, and the reward fell and never came back."""
    if reward is None or len(kl) < AT_ONCE + 2 or len(reward) < AT_ONCE + 2:
        return None
    first, far = float(reward.value[0]), kl.value[: AT_ONCE + 2] > most
    after = float(np.median(reward.value[AT_ONCE:]))
    if far.sum() < 2 or first <= 0 or after > LOST * first:
        return None
    at = int(np.argmax(far))
    return Finding(
        step=int(kl.step[at]),
        claim="The first updates took the policy far from its reference",
        evidence=f"{kl.value[at]:.3g} nats per token at once; the reward fell from {first:.3g} to {after:.3g}.",
        severity="bad",
        metrics=(kl.name, "optimiser/lr", "optimiser/grad_norm", reward.name),
        check=("Learning rate and its warm-up", "Gradient clipping", "Is the reference the model that was loaded?"),
        advice=ADVICE,
    )


def _spent(
    kl: Series, reward: Series | None, evaluations: Sequence[Evaluation] | None, most: float
) -> Iterator[Finding]:
    """KL is large, many times its opening, and neither reward nor evaluation rises any more."""
    first = opening(kl)
    if first is None or improves(reward, evaluations) is not False:
        return
    now = level(kl.value, WIDTH)
    start = last_stretch((now > most) & (now > 5 * first.level))
    if len(now) - start < WIDTH:
        return
    yield Finding(
        step=int(kl.step[start]),
        claim="KL to the reference grows and buys nothing",
        evidence=f"{now[-1]:.3g} nats now, {first.level:.3g} at the opening; the score does not rise any more.",
        severity="bad",
        metrics=(kl.name, "reward/mean", "optimiser/lr"),
        check=("The evaluation since that step", "Samples of then and now, side by side"),
        advice=ADVICE,
    )


def _travelled(kl: Series, rate: Series | None) -> FloatArray:
    """How far equal gradients have come at each point: the sum of the learning rates so far."""
    rates = np.ones(len(kl)) if rate is None or not len(rate) else rate.at(kl.step)
    known = np.isfinite(rates)
    if not (rates[known] > 0).any():
        return np.arange(1.0, len(kl) + 1)
    return np.asarray(np.maximum(np.cumsum(np.where(known, rates, rates[known].mean())), 1e-12), np.float64)


def _takes_off(kl: Series, way: FloatArray, times: float) -> Iterator[Finding]:
    if len(kl) < OPENING + SPAN:
        return
    now, long = level(kl.value, WIDTH), level(kl.value, SPAN)
    begin = np.arange(OPENING - 1, len(now) - SPAN)  # candidates for the last quiet point
    before, here, after = long[np.maximum(begin - SPAN, 0)], long[begin], now[begin + SPAN]
    least = np.maximum(times, STEADY * (way[begin + SPAN - WIDTH // 2] / way[begin - SPAN // 2 + 1]) ** 2)
    least = np.maximum(least, np.exp(SIGMAS * noise(np.log(np.maximum(kl.value, FLOOR)))))
    took_off = (after > least * here) & (after > FLOOR) & (after - here > 3 * np.abs(here - before))
    if not took_off.any():
        return
    first = int(begin[np.argmax(took_off)])
    base = float(long[first])
    last = float(np.median(kl.value[-SPAN // 2 :]))
    if last < LASTING * base:
        return  # it came back, or noise looked like growth
    start = first + int(np.argmax(now[first : first + SPAN + 1] > 1.5 * base))
    yield Finding(
        step=int(kl.step[start]),
        claim="KL to the reference took off",
        evidence=f"{base:.3g} nats per token before, {last:.3g} now.",
        severity="bad" if last > 5 * base or last > FAR else "watch",
        metrics=(kl.name, "optimiser/grad_norm", "optimiser/lr", "policy/clip/region"),
        check=(
            "Learning rate against gradient norm around that step",
            "Share of clipped tokens: policy/clip/region",
            "The samples of the first steps after it",
        ),
        advice=ADVICE,
    )
