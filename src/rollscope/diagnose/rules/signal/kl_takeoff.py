"""KL to the reference takes off. KL always grows from zero, so growth is compared with growth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Finding
from rollscope.diagnose.rule import Series, rule
from rollscope.diagnose.window import level

OPENING = 20  # steps before the rule judges: near zero, every run's KL multiplies
SPAN = 20  # steps over which growth is compared
WIDTH = 9  # points whose median is the level
TIMES = 2.5  # growth over SPAN that is a take-off; linear growth from zero reaches 2 at the first candidate
LASTING = 3.0  # growth that must remain at the end
FLOOR = 0.002  # nats per token; below it a multiple means nothing
FAR = 0.1  # nats per token: far from the reference; a k1 of 0.1 is veRL's alert for a mismatch


@rule("kl-takeoff", needs=(("policy/kl_ref_k3", "policy/kl_ref_k1", "policy/kl_ref_k2"),))
def kl_takeoff(kl: Series) -> Iterator[Finding]:
    """KL to the reference took off: it grows several times faster than it did before.

    Slow growth is learning. A policy whose KL takes off leaves the region in which its reward can
    be trusted, and reward often falls a few steps later. Look at the learning rate against the
    gradient norm, at the clip fraction, and at the samples of the steps where it began.
    """
    if len(kl) < OPENING + SPAN:
        return
    now, long = level(kl.value, WIDTH), level(kl.value, SPAN)
    begin = np.arange(OPENING - 1, len(now) - SPAN)  # candidates for the last quiet point
    before, here, after = long[np.maximum(begin - SPAN, 0)], long[begin], now[begin + SPAN]
    took_off = (after > TIMES * here) & (after > FLOOR) & (after - here > 3 * np.abs(here - before))
    if not took_off.any():
        return
    first = int(begin[np.argmax(took_off)])
    base = float(long[first])
    last = float(np.median(kl.value[-SPAN // 2 :]))
    if last < LASTING * base:
        return  # it came back, or noise looked like growth
    start = first + int(np.argmax(now[first : first + SPAN + 1] > 1.5 * base))
    yield Finding(
        step=int(kl.step[start]),
        claim="KL to the reference took off",
        evidence=f"{base:.3g} nats per token before, {last:.3g} now.",
        severity="bad" if last > 5 * base or last > FAR else "watch",
        metrics=(kl.name, "optimiser/grad_norm", "optimiser/lr", "policy/clip/region"),
        check=(
            "Learning rate against gradient norm around that step",
            "Share of clipped tokens: policy/clip/region",
            "The samples of the first steps after it",
        ),
    )
