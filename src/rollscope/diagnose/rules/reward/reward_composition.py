"""Which component of the reward moves it? Auxiliary ones must not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import robust_spread
from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import Series, rule

AUXILIARY = ("format", "length", "tag", "style", "language", "repetition", "brevity", "structure", "xml", "overlong")
LEAST = 150  # points
RECENT = 0.5  # of the run


@rule("reward-composition", needs=(REWARD, CaseOf()))
def reward_composition(
    reward: Series, case: Case, *, watch: float = 0.7, bad: float = 0.9, least: float = 0.005
) -> Iterator[Finding]:
    """An auxiliary reward moves the total: format, length or style decides what is learned.

    An advantage is made from what varies. A component that varies more than the one that checks the
    answer is what the policy learns, whatever their means. A bonus that everybody earns varies no
    more and does no harm.
    """
    parts = {name: s for name, s in _components(case).items() if len(s) >= LEAST}
    auxiliary = {name: s for name, s in parts.items() if any(word in name for word in AUXILIARY)}
    main = {name: s for name, s in parts.items() if name not in auxiliary}
    if not auxiliary or not main:
        return
    variance = {name: _variance(s) for name, s in parts.items()}
    total = sum(variance.values())
    name = max(auxiliary, key=lambda n: variance[n])
    share = variance[name] / total if total > 0 else 0.0
    grew = _grew_alone(auxiliary[name], main)
    if (share < watch or np.sqrt(variance[name]) < least or _gained(main)) and not grew:
        return
    series = auxiliary[name]
    yield Finding(
        step=int(series.step[int(len(series) * (1 - RECENT))]),
        claim=f"The reward for {name} decides what is learned",
        evidence=f"{name} grew alone over the last {LEAST} steps; {', '.join(main)} did not."
        if grew
        else f"{name} makes {100 * share:.0f} % of the recent variance of the components.",
        severity="bad" if share >= bad and not grew else "watch",
        metrics=(series.name, *(s.name for s in main.values()), reward.name),
        check=("Samples with a high reward and a wrong answer", "The weights of the components"),
        advice=(Advice("Cap or scale the auxiliary reward, or pay it only for correct answers", "rldoctor, GDPO"),),
    )


def _components(case: Case) -> dict[str, Series]:
    """Component -> its mean over steps. The scope that covers most samples wins."""
    found: dict[str, Series] = {}
    for name, series in case.like("reward_component/").items():
        words = name.split("/")
        if words[-1] != "mean" or "trained" in words:
            continue
        found.setdefault(words[1].lower(), series)
    return found


def _variance(series: Series) -> float:
    recent = series.value[int(len(series) * (1 - RECENT)) :]
    return robust_spread(recent) ** 2


def _gained(main: dict[str, Series]) -> bool:
    """Did a main component gain a tenth since the opening? Then it is learned all the same."""
    return any(float(np.median(s.value[-25:]) - np.median(s.value[:25])) > 0.1 for s in main.values())


def _grew_alone(series: Series, main: dict[str, Series]) -> bool:
    """Did the auxiliary reward rise by a fifth in the last steps while no main one rose?"""
    change = float(np.median(series.value[-20:]) - np.median(series.value[-LEAST : -LEAST + 20]))
    return change > 0.2 and not any(_rises(s) for s in main.values())


def _rises(series: Series) -> bool:
    seen = trend(series.value[-LEAST:])
    return seen.rises and seen.change > 0.02
