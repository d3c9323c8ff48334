"""Is the run getting better? The question that comes before an alarm on entropy, length or KL."""

from __future__ import annotations

from collections.abc import Sequence

from rollscope.diagnose.curves.series import Series
from rollscope.diagnose.curves.trend import trend

from .evaluation import Evaluation


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
