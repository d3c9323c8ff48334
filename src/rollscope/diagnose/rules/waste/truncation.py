"""Answers cut at the length limit."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.finding import Finding
from rollscope.diagnose.rule import Series, rule
from rollscope.diagnose.window import average, last_stretch

PATIENCE = 10
WATCH = 0.05  # AReaL's guide: act when more than 5 % do not end on their own
BAD = 0.25  # the level at which the Miles dashboard raises its alarm


@rule(
    "truncation",
    needs=(("length/truncated/generated", "length/truncated", "length/not_ended/generated", "length/not_ended"),),
    optional=(("length/completion/generated/mean", "length/completion/mean"),),
)
def truncation(truncated: Series, length: Series | None) -> Iterator[Finding]:
    """Answers are cut at the length limit: too many to ignore, for many steps.

    A cut answer usually earns nothing, however good it was going to be, so the policy learns from
    an accident. Look at how length grows, whether the limit is simply too small, and whether the
    model still writes its end token.
    """
    share = average(truncated.value, PATIENCE)
    start = last_stretch(share > WATCH)
    if len(share) - start < PATIENCE:
        return
    now = float(share[-1])
    opened = float(truncated.value[:PATIENCE].mean())
    yield Finding(
        step=int(truncated.step[start]),
        claim="Answers grow until they are cut" if _grew(length) else "Answers are cut at the length limit",
        evidence=f"{100 * now:.0f} % of samples over the last {PATIENCE} steps, "
        f"{100 * opened:.0f} % in the first {PATIENCE}.",
        severity="bad" if now >= BAD else "watch",
        metrics=(truncated.name, length.name if length is not None else "length/completion/generated/mean"),
        check=("Length of the worst group", "Is the limit too small for the task?", "Does the reward pay for length?"),
        samples="stop_reason = 'length'",
    )


def _grew(length: Series | None) -> bool:
    """Are the last answers a fifth longer than the first?"""
    if length is None or len(length) < 2 * PATIENCE:
        return False
    return bool(length.value[-PATIENCE:].mean() > 1.2 * length.value[:PATIENCE].mean())
