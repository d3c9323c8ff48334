"""Steps whose gradient is exactly zero: nothing was learned, although a step was paid for."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.curves.series import Mask
from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.reading.known import GRAD
from rollscope.diagnose.rule import Series, rule

WIDTH = 20


@rule("zero-gradient", needs=(GRAD,), optional=("group/zero_spread", "optimiser/lr"))
def zero_gradient(
    grad: Series, dead: Series | None, lr: Series | None, *, watch: float = 0.2, bad: float = 0.7
) -> Iterator[Finding]:
    """Many steps have a gradient of exactly zero: they cost a rollout and teach nothing.

    In GRPO that is a batch in which no group has a spread of rewards. It shows even where groups
    are not logged. A learning rate of 0 in warm-up, a loss scaler that skips, and logging between
    updates look alike, so check those first.
    """
    if len(grad) < WIDTH or dead is not None:
        return  # where groups are logged, dead-groups says more
    share = average((grad.value == 0.0).astype(float), WIDTH)
    start = last_stretch(share >= watch)
    now = float(share[-1])
    if len(share) - start < WIDTH // 2 or (lr is not None and float(lr.value[-1]) == 0.0):
        return
    if _every_so_many(grad.value[-2 * WIDTH :] == 0.0):
        return  # logged between updates, too
    yield Finding(
        step=int(grad.step[start]),
        claim="Many steps have no gradient at all",
        evidence=f"{100 * now:.0f} % of the last {WIDTH} steps have a gradient norm of exactly 0.",
        severity="bad" if now >= bad else "watch",
        metrics=(grad.name,),
        check=("Is the learning rate 0, or does a loss scaler skip?", "Do the answers to a prompt earn the same?"),
        advice=(Advice("Choose prompts that are solved sometimes, or sample until groups differ", "DAPO"),),
    )


def _every_so_many(zero: Mask) -> bool:
    """Do the zeros come in a strict rhythm, as those of micro-steps do?"""
    if zero.all() or len(zero) < 2 * WIDTH:
        return False
    return any(bool((zero[period:] == zero[:-period]).all()) for period in range(2, WIDTH // 2))
