"""A critic that predicts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.curves.window import level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import Series, rule

WARM = 15  # steps that a critic has to begin with
RECENT = 15
EV = ("critic/explained_variance", "critic/explained_variance_stabilised")


@rule(
    "critic-useless",
    needs=(EV,),
    optional=("critic/returns/std", "critic/values/mean", "critic/returns/mean", REWARD, Evaluations()),
)
def critic_useless(
    explained: Series,
    spread: Series | None = None,
    values: Series | None = None,
    returns: Series | None = None,
    reward: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    *,
    watch: float = 0.1,
) -> Iterator[Finding]:
    """The critic explains nothing: advantages are returns with extra noise.

    An explained variance of 0 is a constant guess, below 0 is worse than one. In the first steps
    that is normal, and where returns do not vary nothing can be explained. A guess at the mean does
    no harm while the run learns; one that is off the mean shifts every advantage. Give the critic
    more steps, a warm-up of its own, or normalised returns.
    """
    if len(explained) < WARM + RECENT:
        return
    recent, smooth = explained.value[-RECENT:], level(explained.value, 5)
    now, peak = float(np.median(recent)), float(smooth.max())
    varied = spread is None or float(np.median(spread.value[-RECENT:])) > 1e-3
    if now >= watch or not varied or float(np.mean(recent < watch)) < 0.8:
        return
    fell, off = peak > max(watch, now + 0.2), _off(values, returns, spread)
    if not fell and not off and now >= -watch and _learned(reward, evaluations):
        return
    start = int(np.flatnonzero(smooth >= watch)[-1]) + 1 if fell and (smooth >= watch).any() else 0
    yield Finding(
        step=int(explained.step[min(start, len(explained) - 1)]),
        claim="The critic lost track of the returns" if fell else "The critic explains nothing",
        evidence=f"Explained variance {now:.2f} over the last {RECENT} steps"
        + (f", {peak:.2f} at its best." if fell else ", and never above its level of a guess.")
        + (" Its mean is more than a deviation away from that of the returns." if off else ""),
        severity="bad" if now < 0 and fell else "watch",
        metrics=(explained.name, "critic/loss", "critic/grad_norm"),
        check=("Learning rate and gradient norm of the critic", "Returns: do they vary, and on which scale?"),
        advice=(
            Advice("Warm the critic up, give it more epochs, normalise returns", "post-training-toolkit, Andy Jones"),
        ),
    )


def _off(values: Series | None, returns: Series | None, spread: Series | None) -> bool | None:
    """Is the mean of the values a deviation away from that of the returns? None if not logged."""
    if values is None or returns is None or spread is None:
        return None
    guess, true, width = (float(np.median(one.value[-RECENT:])) for one in (values, returns, spread))
    return abs(guess - true) > width


def _learned(reward: Series | None, evaluations: Sequence[Evaluation] | None) -> bool:
    """Does the run rise, now or over the whole of it?"""
    return bool(improves(reward, evaluations)) or (reward is not None and trend(reward.value).rises)
