"""Updates that move the policy too far at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import longest
from rollscope.diagnose.curves.series import Mask
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import Series, rule

PATIENCE = 3
MOVED = ("policy/kl_update_k3", "policy/kl_update_k1", "policy/kl_update_configured", "policy/kl_update_k2")


@rule("update-too-large", needs=(MOVED, AboutRun()), optional=("optimiser/lr", REWARD))
def update_too_large(
    moved: Series,
    about: About,
    lr: Series | None = None,
    reward: Series | None = None,
    *,
    watch: float = 0.1,
    bad: float = 0.3,
) -> Iterator[Finding]:
    """One update moves the policy too far: KL between before and after is many times the usual.

    PPO's implementations stop an update at 0.015. A policy that moves ten times as far leaves the
    region where its samples say anything, and often does not come back. The learning rate is too
    high, the clip too wide, or a batch is used too often.
    """
    now = level(moved.value, PATIENCE)
    patience = 1 if about.state == "crashed" else PATIENCE
    start = last_stretch(now > watch)
    if len(now) - start < patience and about.state == "crashed":
        start = int(np.argmax(now > watch)) if (now > watch).mean() > 0.5 else len(now)
    if len(now) - start < patience:
        start = _wrecked(moved, now > watch, reward)
    if start == len(now):
        return
    last = float(np.max(now[start:]))
    yield Finding(
        step=int(moved.step[start]),
        claim="Updates are too large",
        evidence=f"KL between before and after an update reaches {last:.3g} nats per token; 0.01 is usual"
        + (f". The learning rate is {lr.value.max():.2g}." if lr is not None and len(lr) else "."),
        severity="bad" if last > bad or about.state == "crashed" else "watch",
        metrics=(moved.name, "policy/ratio/max", "optimiser/lr", "optimiser/grad_norm"),
        check=("Learning rate and its warm-up", "Clip, epochs and minibatches", "Gradient clipping"),
        advice=(
            Advice("Lower the learning rate by ten", "Spinning Up: stop at 1.5 times a target of 0.01"),
            Advice("Clip the gradient and the ratio", "PPO, arXiv 1707.06347"),
        ),
    )


def _wrecked(moved: Series, large: Mask, reward: Series | None) -> int:
    """Where updates were too large for a while, and the reward lost half and never came back.

    The end of the series if that did not happen.
    """
    stretch = longest(large, PATIENCE)
    if stretch is None or reward is None or len(reward) < 2 * PATIENCE:
        return len(large)
    before = reward.value[reward.step <= moved.step[stretch.start]][-PATIENCE:]
    after = float(np.median(reward.value[-10:]))
    lost = len(before) > 0 and float(before.mean()) > 0 and after < 0.5 * float(before.mean())
    return stretch.start if lost else len(large)
