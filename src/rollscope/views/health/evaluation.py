"""An evaluation over steps: is the newest score better or worse, beyond its interval?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rollscope.store.run import Run

from .reference import Judgement, judgement, unjudged
from .sentence import say
from .trend import Floats, Ints, points_of


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one evaluation, each with half of its 95 % interval (NaN without one)."""

    step: Ints
    value: Floats
    half: Floats

    def __len__(self) -> int:
        return len(self.value)

    @property
    def best(self) -> int:
        return int(np.argmax(self.value))

    def error(self, one: int, other: int) -> float:
        """Half the interval of the difference of two scores; NaN if one has none."""
        return math.hypot(float(self.half[one]), float(self.half[other]))

    def differ(self, one: int, other: int) -> bool:
        """Is the second score above the first by more than the interval of the difference?"""
        return float(self.value[other] - self.value[one]) > self.error(one, other)

    @property
    def rose(self) -> bool | None:
        """Is the newest above the first, beyond the interval? None if that cannot be said."""
        if len(self) < 2 or math.isnan(self.error(0, -1)):
            return None
        return self.differ(0, -1)


def scores_of(run: Run, name: str) -> Scores:
    """The finite scores under a logged name, with the interval that was logged beside them."""
    points = points_of(run, name)
    finite = np.isfinite(points.value)
    step, value = points.step[finite], points.value[finite]
    return Scores(step, value, _half(run, name, step))


def _half(run: Run, name: str, steps: Ints) -> Floats:
    ends = [f"{name}/{word}" for word in ("ci_low", "ci_high")]
    if not all(map(run.is_stored, ends)):
        return np.full(len(steps), np.nan)
    low, high = (dict(zip(p.step.tolist(), p.value.tolist(), strict=True)) for p in (points_of(run, e) for e in ends))
    return np.array([(high.get(s, np.nan) - low.get(s, np.nan)) / 2 for s in steps.tolist()], np.float64)


def judged(scores: Scores) -> Judgement:
    """Watch only if the newest score is below the best by more than the interval of the two."""
    if len(scores) < 2:
        return unjudged("One evaluation so far." if len(scores) else "Nothing scored yet.")
    best, last = scores.best, len(scores) - 1
    if math.isnan(scores.error(best, last)):
        return unjudged(_sentence(scores), "no interval was logged")
    if scores.differ(last, best):
        return _against(scores, "watch", best, "its best")
    if scores.differ(0, last):
        return _against(scores, "good", 0, "its first")
    return _against(scores, "none", 0, "its first")


def _against(scores: Scores, status: str, other: int, words: str) -> Judgement:
    value, half = float(scores.value[other]), float(scores.half[other])
    text = f"against {words}, {say(value)} ± {say(half)} at step {int(scores.step[other]):,}"
    return judgement(status, _sentence(scores), "interval", text, value)  # type: ignore[arg-type]


def _sentence(scores: Scores) -> str:
    """How the newest evaluation compares with the best so far."""
    best, last = scores.best, len(scores) - 1
    if best == last:
        return "The newest is the best so far."
    if scores.value[best] == scores.value[last]:
        return f"As good as the best so far, {say(float(scores.value[best]))}."
    error = scores.error(best, last)
    if error >= scores.value[best] - scores.value[last]:
        return f"Within ± {say(error)} of the best, {say(float(scores.value[best]))}."
    below = last - best
    since = f"{below} evaluations in a row are" if below > 1 else "The newest is"
    return f"{since} below the best, {say(float(scores.value[best]))} at step {int(scores.step[best]):,}."
