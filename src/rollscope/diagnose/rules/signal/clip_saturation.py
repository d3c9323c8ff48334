"""Too many tokens are clipped: the update throws away what it samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import MOST
from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.reading.known import ENTROPY
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10
ENOUGH = 15  # points from which the sides are compared
REGION = ("policy/clip/region", "policy/clip/configured", "policy/seq_clip/region", "policy/ratio/outside")


@rule("clip-saturation", needs=(REGION,), optional=("policy/clip/low", "policy/clip/high", ENTROPY))
def clip_saturation(
    region: Series,
    low: Series | None = None,
    high: Series | None = None,
    entropy: Series | None = None,
    *,
    watch: float = 0.2,
    bad: float = 0.4,
    starved: float = 0.1,
) -> Iterator[Finding]:
    """Many tokens are clipped: the policy moves further in a step than the update may use.

    The learning rate is too high, or the data is used too often. If the lower side clips many times
    more than the upper, bad tokens are still pushed down while good rare ones cannot grow, and
    exploration ends.
    """
    share = average(region.value, PATIENCE)
    start = last_stretch(share >= watch)
    if len(share) - start >= PATIENCE:
        now = float(share[-1])
        yield _finding(region, start, f"{100 * now:.0f} % of tokens over the last {PATIENCE} steps.", now >= bad)
    elif low is not None and high is not None and _lopsided(low, high, starved, entropy):
        below, above = (100 * float(np.mean(s.value[-PATIENCE:])) for s in (low, high))
        start = last_stretch(average(low.value, PATIENCE) >= starved / 2)
        yield _finding(low, min(start, len(low) - 1), f"{below:.1f} % below, {above:.1f} % above.", False)


def _lopsided(low: Series, high: Series, starved: float, entropy: Series | None) -> bool:
    """Does the lower side clip three times as much? Half of the share will do if entropy falls."""
    if len(low) < ENOUGH:
        return False
    below, above = (float(np.mean(s.value[-PATIENCE:])) for s in (low, high))
    least = starved / 2 if _falls(entropy) else starved
    return below >= least and below >= (2.5 if least < starved else 3.0) * above


def _falls(entropy: Series | None) -> bool:
    """Did entropy lose a fifth of its opening, in a trend over the whole run?"""
    if entropy is None or len(entropy) < ENOUGH:
        return False
    opened = float(np.median(entropy.value[: min(MOST, len(entropy) // 4)]))
    return float(np.median(entropy.value[-5:])) < 0.8 * opened and trend(entropy.value).falls


def _finding(series: Series, start: int, evidence: str, bad: bool) -> Finding:
    return Finding(
        step=int(series.step[start]),
        claim="Many tokens are clipped",
        evidence=evidence,
        severity="bad" if bad else "watch",
        metrics=(series.name, "policy/clip/low", "policy/clip/high", "optimiser/lr"),
        check=("Learning rate, epochs and minibatches", "Which side clips: policy/clip/low, policy/clip/high"),
        advice=(
            Advice("Lower the learning rate, or use each batch fewer times", "miles: healthy below 0.2"),
            Advice("Widen the upper clip if the lower side clips most", "DAPO, clip-higher"),
        ),
    )
