"""A policy of many turns that falls back to few, or drops its tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun, Evaluations
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10
TURNS = ("turns/generated/mean", "turns/mean", "turns/conversation/generated/mean")
LIMITS = ("max_turns", "max_assistant_turns", "max_tool_calling_iterations", "max_steps_per_episode")
CALLS = ("tool/calls/generated/mean", "tool/calls/mean")


@rule("turns-collapse", needs=(TURNS, REWARD), optional=(CALLS, Evaluations(), AboutRun()))
def turns_collapse(
    turns: Series,
    reward: Series,
    calls: Series | None = None,
    evaluations: Sequence[Evaluation] | None = None,
    about: About | None = None,
    *,
    left: float = 0.5,
) -> Iterator[Finding]:
    """Turns or tool calls collapse: the policy takes half the turns it began with, and gains
    nothing.

    It has learnt that a short conversation is as good, often because tools fail or long ones are
    cut. If the score rises meanwhile, it has learnt to need no tool, which is no fault. Nor is it
    one of the policy if the environment allows no more turns.
    """
    if improves(reward, evaluations):
        return
    for series, what, least in ((calls, "tool calls", 0.3), (turns, "turns", 1.5)):
        first = opening(series)
        if series is None or first is None or first.level < least or _limited(about, first.level):
            continue
        now = level(series.value, 5)
        start = last_stretch(now < left * first.level)
        if len(now) - start < PATIENCE:
            continue
        yield Finding(
            step=int(series.step[start]),
            claim="The policy drops its tools" if series is calls else "Conversations collapse to few turns",
            evidence=f"{now[-1]:.2g} {what} per sample now, {first.level:.2g} at the opening; the score does not rise.",
            severity="watch",
            metrics=(series.name, reward.name, "tool/failure_share"),
            check=("Do tools fail? tool/failure_share", "Are long conversations cut?", "In-group spread of rewards"),
            advice=(Advice("Mask turns without an action, pay a little for useful calls", "RAGEN, verifiers#1416"),),
        )
        return


def _limited(about: About | None, opened: float) -> bool:
    """Does the environment now allow less than the policy did at the opening?"""
    limit = about.setting(*LIMITS) if about is not None else None
    return isinstance(limit, int | float) and 0 < limit < opened
