"""A critic that predicts nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.window import level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.rule import Series, rule

WARM = 20  # steps that a critic has to begin with
RECENT = 15
EV = ("critic/explained_variance", "critic/explained_variance_stabilised")


@rule("critic-useless", needs=(EV,), optional=("critic/loss", "critic/returns/std"))
def critic_useless(
    explained: Series, loss: Series | None = None, returns: Series | None = None, *, watch: float = 0.1
) -> Iterator[Finding]:
    """The critic explains nothing: advantages are returns with extra noise.

    An explained variance of 0 is a constant guess, below 0 is worse than one. In the first steps
    that is normal, and where returns do not vary nothing can be explained. Give the critic more
    steps, a warm-up of its own, or normalised returns.
    """
    if len(explained) < WARM + RECENT:
        return
    recent = explained.value[-RECENT:]
    now = float(np.median(recent))
    peak = float(level(explained.value, 5).max())
    varied = returns is None or float(np.median(returns.value[-RECENT:])) > 1e-3
    if now >= watch or not varied or float(np.mean(recent < watch)) < 0.8:
        return
    fell = peak > max(watch, now + 0.2)
    smooth = level(explained.value, 5)
    start = int(np.flatnonzero(smooth >= watch)[-1]) + 1 if fell and (smooth >= watch).any() else 0
    yield Finding(
        step=int(explained.step[min(start, len(explained) - 1)]),
        claim="The critic lost track of the returns" if fell else "The critic explains nothing",
        evidence=f"Explained variance {now:.2f} over the last {RECENT} steps"
        + (f", {peak:.2f} at its best." if fell else ", and never above its level of a guess."),
        severity="bad" if now < 0 and fell else "watch",
        metrics=(explained.name, "critic/loss", "critic/grad_norm"),
        check=("Learning rate and gradient norm of the critic", "Returns: do they vary, and on which scale?"),
        advice=(
            Advice("Warm the critic up, give it more epochs, normalise returns", "post-training-toolkit, Andy Jones"),
        ),
    )
