"""Groups without spread, against the share that the prompts' own pass rates predict."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.rule import Finding, Series, rule
from rollscope.diagnose.window import average, last_stretch

PATIENCE = 10
DEAD = 0.5  # the level at which the Miles dashboard raises its alarm
MARGIN = 0.15  # above the expected share before we call it more than difficulty
SYSTEMATIC = 0.9  # of the dead groups, how many fail for it to look like a fault and not like hard prompts


@rule("dead-groups", needs=("group/zero_spread",), optional=("group/zero_spread_expected", "group/all_fail"))
def dead_groups(dead: Series, expected: Series | None, failing: Series | None) -> Iterator[Finding]:
    """Most groups have no spread: every answer to a prompt earns the same, so there is nothing to learn from it.

    Some of it is arithmetic: a prompt solved with probability p gives p^K + (1-p)^K of such groups. Above that share something is wrong:
    prompts too hard or too easy by now, a reward that cannot tell answers apart, or, when all of them fail, a systematic fault such as truncation or a time limit.
    """
    share = average(dead.value, PATIENCE)
    start = last_stretch(share >= DEAD)
    if len(share) - start < PATIENCE:
        return
    now = float(share[-1])
    predicted = _last_mean(expected)
    if predicted is not None and now < predicted + MARGIN:
        return  # as many as the pass rates say: difficulty, not a fault
    failed = _last_mean(failing)
    systematic = failed is not None and now > 0 and failed / now >= SYSTEMATIC
    yield Finding(
        step=int(dead.step[start]),
        claim="Nearly every group fails as a whole" if systematic else "Most groups have no spread",
        evidence=f"{100 * now:.0f} % of groups over the last {PATIENCE} steps"
        + (f", {100 * predicted:.0f} % expected from the prompts' pass rates" if predicted is not None else "")
        + (f"; {100 * failed:.0f} % of all groups fail completely" if failed is not None else "")
        + ".",
        severity="bad" if systematic or now > 0.8 else "watch",
        metrics=(dead.name, "group/zero_spread_expected", "group/all_fail", "group/all_pass"),
        check=(
            "Do they all fail or all pass? group/all_fail, group/all_pass",
            "Are answers cut or in error? length/truncated",
            "Can the reward tell answers apart? Read one group side by side",
        ),
        samples="discard_reason = 'zero_advantage'",
    )


def _last_mean(series: Series | None) -> float | None:
    return None if series is None or not len(series) else float(np.mean(series.value[-PATIENCE:]))
