"""What a comparison says, in two sentences: which is better, and where they part."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rollscope.statistics.noise import Noise

from .outcome import Outcome
from .partings import Parting


def verdict(outcomes: Sequence[Outcome], a: str = "A", b: str = "B") -> str:
    """Which of two is better on evaluations, in one sentence."""
    claim, certainty, but = claims(outcomes, a, b)
    return f"{claim} ({certainty}){but}." if certainty else f"{claim}."


def claims(outcomes: Sequence[Outcome], a: str = "A", b: str = "B") -> tuple[str, str, str]:
    """Which of two is better on evaluations, how sure that is, and where it is worse.

    The surest outcome speaks.
    """
    if not outcomes:
        return "They share no evaluation, so nothing says which is better", "", ""
    best = min(outcomes, key=lambda o: (not o.is_sure, 1.0 if math.isnan(o.p) else o.p))
    if math.isnan(best.low):
        return f"{_names(outcomes)}: too little data to say which is better", "", ""
    if not best.is_sure:
        return f"No difference beyond noise on {_names(outcomes)}", _certainty(best), ""
    winner = b if best.difference > 0 else a
    against = [o for o in outcomes if o.is_sure and (o.difference > 0) != (best.difference > 0)]
    but = f", but worse on {_names(against)}" if against else ""
    return f"{winner} is better on {best.name} by {size(abs(best.difference), best.graded)}", _certainty(best), but


def _names(outcomes: Sequence[Outcome]) -> str:
    return ", ".join(outcome.name for outcome in outcomes)


def size(value: float, graded: bool) -> str:
    """A difference: in points of a hundred for scores of 0 to 1, else as it is."""
    return f"{100 * value:.1f} points" if graded else f"{value:.3g}"


def _certainty(o: Outcome) -> str:
    scale, digits = (100, ".1f") if o.graded else (1, ".3g")
    turn = -1 if o.difference < 0 and o.is_sure else 1
    low, high = sorted((turn * scale * o.low, turn * scale * o.high))
    if o.unit == "runs":
        n = f"{o.n[0]} seeds each" if o.n[0] == o.n[1] else f"{o.n[0]} and {o.n[1]} seeds"
    else:
        n = f"one run each, over {o.n[0]:,} tasks; another seed may differ"
    return f"95 % {low:{digits}} to {high:{digits}}, {n}"


def parting(metrics: Sequence[Parting]) -> str:
    """Where two runs part, and in what first."""
    apart = [p for p in metrics if p.step is not None]
    if not metrics:
        return "They have no metric in common."
    if not apart:
        return _together(sum(p.distance == 0 for p in metrics), len(metrics))
    first = apart[0]
    later = next((f", then in {p.metric}" for p in apart if p.metric != first.metric), "")
    counted = f"{len(apart)} of {len(metrics)} common metrics part"
    return f"They part at step {first.step:,}, first in {first.metric}{later}; {counted}."


def _together(together: int, total: int) -> str:
    """The sentence for two runs that part nowhere; the rest of `total` has too few common steps."""
    if together == total:
        return f"They stay together in all {total} common metrics."
    unknown = f"too few common steps to tell in {total - together} common metric{'s' if total - together > 1 else ''}"
    return f"They stay together in {together}; {unknown}." if together else f"{unknown.capitalize()}."


def floor(noise: Noise, metric: str, runs: int = 1, others: int = 1) -> str:
    """The noise of a project's repeats."""
    if not noise.freedom:
        return f"No configuration was repeated with another seed, so the noise of {metric} is unknown here."
    counts = f"{noise.runs} runs, {noise.configurations} configurations"
    least = noise.floor(runs, others)
    return f"On {metric}, differences under {least:.2g} are within the noise of repeats here ({counts})."
