"""The range that a run's reward can have."""

from __future__ import annotations

from collections.abc import Mapping

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning
from rollscope.views.metric_info import declared_of, declared_reward_range, range_of


def reward_range(run: Run, meanings: Mapping[str, Meaning], env: str = "") -> list[float | None]:
    """The range of the logged reward, else the declared one, else two None.

    With `env`, it is the one that was declared for an environment, if any was.
    """
    known = declared_of(run.declared, env)
    for name in ("reward/generated/mean", "reward/mean", "score/mean"):
        if name in meanings:
            return range_of(meanings[name].logged, meanings[name], known)[0]
    declared = declared_reward_range(known)
    return list(declared) if declared else [None, None]
