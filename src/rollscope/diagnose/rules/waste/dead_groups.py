"""Groups without reward spread, compared with the share that the prompts' pass rates predict."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Finding
from rollscope.diagnose.rule import Series, rule
from rollscope.diagnose.window import average, last_stretch

PATIENCE = 10
DEAD = 0.5  # the level at which the Miles dashboard raises its alarm
MARGIN = 0.15  # excess over the expected share that difficulty alone does not explain
SYSTEMATIC = 0.9  # share of failures among dead groups that suggests a fault, not hard prompts


@rule("dead-groups", needs=("group/zero_spread",), optional=("group/zero_spread_expected", "group/all_fail"))
def dead_groups(dead: Series, expected: Series | None, failing: Series | None) -> Iterator[Finding]:
    """Most groups have no spread: all answers to a prompt earn the same, so they teach nothing.

    Some such groups are normal: with K answers, a prompt solved with probability p gives p^K +
    (1-p)^K of them. A larger share has a cause: the prompts have become too hard or too easy, the
    reward cannot tell answers apart, or, if they all fail, a systematic fault such as truncation or
    a time limit.
    """
    share = average(dead.value, PATIENCE)
    start = last_stretch(share >= DEAD)
    if len(share) - start < PATIENCE:
        return
    now = float(share[-1])
    predicted = _last_mean(expected)
    if predicted is not None and now < predicted + MARGIN:
        return  # the pass rates predict as many
    failed = _last_mean(failing)
    systematic = failed is not None and now > 0 and failed / now >= SYSTEMATIC
    yield Finding(
        step=int(dead.step[start]),
        claim="Nearly every group fails as a whole" if systematic else "Most groups have no spread",
        evidence=_evidence(now, predicted, failed),
        severity="bad" if systematic or now > 0.8 else "watch",
        metrics=(dead.name, "group/zero_spread_expected", "group/all_fail", "group/all_pass"),
        check=(
            "Do they all fail or all pass? group/all_fail, group/all_pass",
            "Are answers cut or in error? length/truncated",
            "Can the reward tell answers apart? Read one group side by side",
        ),
        samples="discard_reason = 'zero_advantage'",
    )


def _evidence(now: float, predicted: float | None, failed: float | None) -> str:
    text = f"{100 * now:.0f} % of groups over the last {PATIENCE} steps"
    if predicted is not None:
        text += f", {100 * predicted:.0f} % expected from the prompts' pass rates"
    if failed is not None:
        text += f"; {100 * failed:.0f} % of all groups fail completely"
    return text + "."


def _last_mean(series: Series | None) -> float | None:
    return None if series is None or not len(series) else float(np.mean(series.value[-PATIENCE:]))
