"""The reward of a run in two facts: whether it rises, and the range it can have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning
from rollscope.views.metric_info import declared_reward_range, range_of
from rollscope.views.sentence import Trend

from .headline import REWARDS
from .vital_sign import read


def improving(run: Run, meanings: Mapping[str, Meaning]) -> bool | None:
    """Does the reward rise by more than its noise? None if there is no reward to judge."""
    name = next((meanings[name].logged for name in REWARDS if name in meanings), None)
    trend = Trend.of(np.asarray(read(run, name)["value"], np.float64)) if name else None
    return None if trend is None else trend.moved and trend.now > trend.opening


def reward_range(run: Run, meanings: Mapping[str, Meaning]) -> list[float | None]:
    """The range of the logged reward, else the declared one, else two None."""
    for name in ("reward/generated/mean", "reward/mean", "score/mean"):
        if name in meanings:
            return range_of(meanings[name].logged, meanings[name], run.declared)[0]
    declared = declared_reward_range(run.declared)
    return list(declared) if declared else [None, None]
