"""Which component of the reward moves it? Auxiliary ones must not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.curves.opening import robust_spread
from rollscope.diagnose.curves.window import level, noise
from rollscope.diagnose.finding import Advice, Finding, Severity
from rollscope.diagnose.needs import CaseOf
from rollscope.diagnose.reading.case import Case
from rollscope.diagnose.reading.known import REWARD
from rollscope.diagnose.rule import FloatArray, Series, rule

AUXILIARY = ("format", "length", "tag", "style", "language", "repetition", "brevity", "structure", "xml", "overlong")
LEAST = 150  # points that a share of variance needs
BEFORE = 40  # points before a reward can be said to grow by itself
WIDTH = 20  # points over which it grows
PLACES = 200  # at most, at which it is asked what is usual: a long run must not cost more
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
    parts = {name: s for name, s in _components(case).items() if len(s) >= 2 * BEFORE}
    auxiliary = {name: s for name, s in parts.items() if any(word in name for word in AUXILIARY)}
    main = {name: s for name, s in parts.items() if name not in auxiliary}
    if not auxiliary or not main:
        return
    for name, series in auxiliary.items():
        start = _grew_alone(series, [*main.values()])
        if start is not None:
            evidence = f"{name} has grown alone since then; {', '.join(main)} had grown before it, and did not since."
            yield _finding(name, series, start, evidence, "watch", reward, main)
            return
    variance = {name: _variance(s) for name, s in parts.items()}
    name = max(auxiliary, key=lambda n: variance[n])
    share = variance[name] / max(sum(variance.values()), 1e-12)
    if len(reward) < LEAST or share < watch or np.sqrt(variance[name]) < least or _gained(main):
        return
    evidence = f"{name} makes {100 * share:.0f} % of the recent variance of the components."
    start = int(len(auxiliary[name]) * (1 - RECENT))
    yield _finding(name, auxiliary[name], start, evidence, "bad" if share >= bad else "watch", reward, main)


def _finding(
    name: str, series: Series, start: int, evidence: str, severity: Severity, reward: Series, main: dict[str, Series]
) -> Finding:
    return Finding(
        step=int(series.step[start]),
        claim=f"The reward for {name} decides what is learned",
        evidence=evidence,
        severity=severity,
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
    """The variance of the recent half without its extremes: many values may lie at a bound."""
    recent = series.value[int(len(series) * (1 - RECENT)) :]
    return float(np.var(np.clip(recent, *np.percentile(recent, [5, 95]))))


def _gained(main: dict[str, Series]) -> bool:
    """Did a main component gain a tenth since the opening? Then it is learned all the same."""
    return any(float(np.median(s.value[-25:]) - np.median(s.value[:25])) > 0.1 for s in main.values())


def _grew_alone(series: Series, main: list[Series]) -> int | None:
    """Since when the auxiliary reward rises by itself, after a main one had been learned.

    Every run learns its format first; that is a warm-up. It is a game once the main rewards, which
    had grown, stop while the auxiliary one rises several times faster than before.
    """
    now = level(series.value, 5)
    gains = now[WIDTH:] - now[:-WIDTH]
    places = np.unique(np.linspace(0, len(gains) - 1, PLACES).astype(int))
    usual = np.array([_usual(gains, int(i)) for i in places])
    least = usual[np.searchsorted(places, np.arange(len(gains)), side="right") - 1]
    others = [_aligned(s, series) for s in main]
    alone = (gains > least) & np.all([gains > 4 * (o[WIDTH:] - o[:-WIDTH]) for o in others], axis=0)
    alone[: BEFORE - WIDTH] = False
    start = int(np.argmax(alone)) if alone.any() else len(now) - 1
    learned = any(o[start] - np.median(o[:WIDTH]) > max(0.05, 4 * noise(o)) for o in others)
    since = float(now[-1] - now[start])
    holds = since > 0.1 and all(float(o[-1] - o[start]) < 0.25 * since for o in others)
    return start if alone.any() and learned and holds else None


def _usual(gains: FloatArray, i: int) -> float:
    """What a gain must exceed to stand out from those before it."""
    before = gains[: max(1, i - WIDTH)]
    usual = float(np.median(before))
    return max(0.1, 3 * usual, usual + 4 * robust_spread(before))


def _aligned(series: Series, other: Series) -> FloatArray:
    """The level of a series at the steps of another one, or its last level before."""
    place = np.clip(np.searchsorted(series.step, other.step, side="right") - 1, 0, None)
    return level(series.value, 5)[place]
