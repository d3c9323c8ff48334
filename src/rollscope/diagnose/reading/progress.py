"""Is the run getting better? The question that comes before an alarm on entropy, length or KL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollscope.diagnose.curves.series import Series
from rollscope.diagnose.curves.trend import trend

from .about import About
from .evaluation import Evaluation

CEILING = 0.85  # of the highest reward: what is left to learn is little


def improves(reward: Series | None, evaluations: Sequence[Evaluation] | None, last: int = 60) -> bool | None:
    """Is the run getting better? A held-out score decides if it can, else the reward.

    None if neither is there. An alarm on entropy, length or KL asks this first: the same curve is
    learning if it buys something.
    """
    for one in evaluations or ():
        if len(one.series) >= 6:
            seen = trend(one.series.value[-max(6, len(one.series) // 3) :])
            if seen.rises or seen.falls:
                return seen.rises
    if reward is None or len(reward) < 10:
        return None
    return trend(reward.value[-last:]).rises


def at_ceiling(reward: Series | None, about: About | None, last: int = 20) -> bool:
    """Is nearly everything solved? Then reward cannot rise, and a policy that is sure is right.

    The highest reward is the declared one. Without it 1 is assumed where rewards lie in 0 to 1 and
    a little more.
    """
    if reward is None or not len(reward):
        return False
    top = _declared_top(about)
    if top is None and float(reward.value.min()) >= 0 and float(reward.value.max()) <= 1.2:
        top = 1.0
    return top is not None and top > 0 and float(np.median(reward.value[-last:])) >= CEILING * top


def _declared_top(about: About | None) -> float | None:
    declared = about.declared if about is not None else {}
    environments = declared.get("environments")
    places = [declared, *(environments.values() if isinstance(environments, dict) else ())]
    tops = [place.get("reward_max") for place in places if isinstance(place, dict)]
    known = [float(top) for top in tops if isinstance(top, int | float)]
    return max(known) if known else None
