"""Entropy compared with its own opening: its level differs between models, its fall does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Finding
from rollscope.diagnose.rule import Series, rule
from rollscope.diagnose.window import last_stretch, level

OPENING = 20  # steps that show what is normal for this run
PATIENCE = 10  # steps under the floor before the rule speaks
FLOOR = 0.1  # share of the opening; TRL's default entropy target, 0.2 nats of a typical 2, is a tenth too
GONE = 0.02


@rule("entropy-collapse", needs=(("policy/entropy", "policy/entropy_sampled"),))
def entropy_collapse(entropy: Series) -> Iterator[Finding]:
    """The policy stopped exploring: entropy fell below a tenth of where it opened and stays there.

    A policy that is sure of every token writes the same answer again and again, groups lose their
    spread, and learning stops. Look at the upper clip (a tight one keeps rare good tokens from
    growing), at the learning rate, and at the reward spread inside groups. Widen the upper clip or
    add an entropy bonus before you change anything else.
    """
    if len(entropy) < OPENING + PATIENCE:
        return
    opening = float(np.median(entropy.value[:OPENING]))
    if opening <= 0:
        return
    now = level(entropy.value, 5)
    low = now < FLOOR * opening
    start = last_stretch(low)
    if len(low) - start < PATIENCE:
        return
    last = float(now[-1])
    yield Finding(
        step=int(entropy.step[start]),
        claim="Entropy collapsed",
        evidence=f"{last:.3g} nats now, {opening:.3g} at the opening: {100 * last / opening:.1f} % is left.",
        severity="bad" if last < GONE * opening else "watch",
        metrics=(entropy.name, "policy/clip/high", "group/reward_gini"),
        check=(
            "Is the upper clip tight? See policy/clip/high",
            "Do groups still differ? See group/zero_spread",
            "Was the learning rate raised or warmed up just before?",
        ),
    )
