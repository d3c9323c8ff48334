"""Does the run learn? What its reward and its newest evaluation say, each beyond its noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning
from rollscope.views.summary.headline import AIMS, evaluation

from .evaluation import Scores, scores_of
from .sentence import say
from .trend import Trend, points_of
from .vital_sign import sign_title
from .vitals import OFFLINE, kind_of


@dataclass(frozen=True, slots=True)
class Effect:
    """One number a run is trained for. `better` is None while it cannot be said."""

    name: str  # as a person says it
    better: bool | None
    worse: bool | None
    says: str  # how it moved, with numbers
    is_evaluation: bool = False


def effects(run: Run, meanings: Mapping[str, Meaning]) -> tuple[Effect | None, Effect | None]:
    """The effect on what is trained (reward, margin, loss), and on the evaluation."""
    aim = next((meanings[name] for name in _aims(run, meanings) if name in meanings), None)
    score = evaluation(meanings)
    return (_trained(run, aim) if aim else None), (_evaluated(scores_of(run, score)) if score else None)


def _aims(run: Run, meanings: Mapping[str, Meaning]) -> list[str]:
    """What a run may be trained for. The reward of samples made before it is no aim of it."""
    made_before = kind_of(run, meanings).name in OFFLINE
    return [name for name in AIMS if not (made_before and name.startswith(("reward/", "score")))]


def _trained(run: Run, m: Meaning) -> Effect:
    name = sign_title(m)
    trend = Trend.of(points_of(run, m.logged, m.scale).value)
    if trend is None or not trend.known:
        return Effect(name, None, None, f"{name} has too few points to say")
    up = m.entry is None or m.entry.good != "down"
    better, worse = (trend.rose, trend.fell) if up else (trend.fell, trend.rose)
    word = "rose" if trend.rose else "fell" if trend.fell else "did not move beyond its noise"
    unit = m.entry.unit if m.entry else ""
    moved = f" from {say(trend.opening, unit)} to {say(trend.now, unit)}" if trend.moved else ""
    return Effect(
        name, better, worse, f"{name} {word}{moved or f', {say(trend.now, unit)} ± {say(trend.noise, unit)}'}"
    )


def _evaluated(scores: Scores) -> Effect:
    if scores.rose is None:
        few = "has no interval" if len(scores) > 1 else "ran once" if len(scores) else "has no score"
        return Effect("The evaluation", None, None, f"the evaluation {few}", is_evaluation=True)
    first, last, half = float(scores.value[0]), float(scores.value[-1]), scores.error(0, -1)
    fell = scores.differ(len(scores) - 1, 0)
    word = "rose" if scores.rose else "fell" if fell else "did not move beyond its interval"
    says = f"the evaluation {word}, {say(first)} to {say(last)} ± {say(half)}"
    return Effect("The evaluation", scores.rose, fell, says, is_evaluation=True)
