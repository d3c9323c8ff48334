"""Time spent to bring new weights to the engines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.ratio import ratio
from rollscope.diagnose.finding import Advice, Cost, Finding
from rollscope.diagnose.reading.known import STEP_SECONDS
from rollscope.diagnose.rule import Series, rule

LEAST = 10
SYNC = ("time/weight_sync/trainer", "time/sync_weights", "time/weight_sync/inference", "time/update_weights")


@rule("weight-sync-cost", needs=(SYNC, STEP_SECONDS), order="tuning")
def weight_sync_cost(sync: Series, step: Series, *, watch: float = 0.1, least: float = 0.5) -> Iterator[Finding]:
    """New weights cost a large part of the time: engines pause while they are copied.

    The first update and the compilation after it do not count. Transfer in buckets, overlap the
    copy with sampling, or update less often if staleness allows.
    """
    share = ratio(sync, step)
    if len(share) < LEAST:
        return
    now = float(np.median(share.value[LEAST // 2 :]))
    seconds = float(np.median(sync.value[LEAST // 2 :]))
    if now <= watch or seconds < least:
        return
    yield Finding(
        step=int(share.step[LEAST // 2]),
        claim="Weight updates take a large part of the time",
        evidence=f"{100 * now:.0f} % of a step, {seconds:.2g} s each.",
        severity="watch",
        metrics=(sync.name, step.name),
        check=("Pause, transfer and barrier: time/weight_sync",),
        advice=(Advice("Copy in buckets and overlap with sampling", "marin#8955: 2,096 of 4,754 s were copies"),),
        cost=Cost(now, why="share of the time in which weights are copied"),
    )
