"""The decision over all sets of two evaluations: is one of them worse beyond noise?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rollscope.errors import BadInput
from rollscope.statistics.holm import holm
from rollscope.store.run import Run

from .pairing import Pairing, Side, pair
from .sets import EvalSet, sets
from .task_scores import task_scores

ALPHA = 0.05
LARGE = 10.0  # no score of 0 to 1 grows to this from one evaluation to the next
WHEN = ("before", "after")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One set: the pairing, and what it means after Holm's correction over all sets."""

    set: str
    score: str
    pairing: Pairing
    p: float  # of any difference, corrected
    p_worse: float  # of a fall beyond the margin, corrected
    p_equivalent: float  # of a difference within the margin; NaN without a margin
    is_equal: bool  # the same, after the correction

    @property
    def is_regression(self) -> bool:
        return self.p_worse <= ALPHA

    @property
    def says(self) -> str:
        if self.is_regression:
            return "worse"
        if self.p > ALPHA:
            return "equal within the margin" if self.is_equal else "no difference beyond noise"
        if self.pairing.result.difference > 0:
            return "better, within the margin" if self.is_equal else "better"
        return "lower, within the margin" if self.is_equal else "lower, not surely by more than the margin"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A run, and the step whose evaluations count; None: the newest of each set."""

    run: Run
    step: int | None = None

    def side(self, evals: EvalSet, score: str | None) -> Side:
        step = self.step if self.step is not None else int(evals.steps[-1])
        return Side(task_scores(evals, score), step)


def verdicts(
    before: Evaluated, after: Evaluated, margin: float = 0.0, score: str | None = None, names: list[str] | None = None
) -> list[Verdict]:
    """Compare every set that both have. Raises BadInput if there is nothing sound to compare."""
    left, right = sets(before.run), sets(after.run)
    if before.run.id == after.run.id and before.step == after.step:
        raise BadInput(f"run {after.run.id!r} would be compared with itself; give --against RUN or --against-at STEP")
    common = _common(before, after, left, right, names)
    pairs = [_pair(before, after, left[name], right[name], score) for name in common]
    p = holm([pairing.result.p for pairing in pairs])
    falls = holm([pairing.worse(margin) for pairing in pairs])
    alike = [pairing.equivalent(margin) if margin else math.nan for pairing in pairs]
    equal = [q <= ALPHA for q in holm(alike)]
    scores = [pairing.after.scores.score for pairing in pairs]
    return [Verdict(*one) for one in zip(common, scores, pairs, p, falls, alike, equal, strict=True)]


def left_out(before: Evaluated, after: Evaluated, found: list[Verdict]) -> list[str]:
    """The sets that only one of the two has at its step, each with whose it is."""
    compared = {verdict.set for verdict in found}
    sides = [(side, name) for side in (before, after) for name, evals in sets(side.run).items() if _has(evals, side)]
    return [f"{name} (only {side.run.id})" for side, name in sides if name not in compared]


def _common(
    before: Evaluated, after: Evaluated, left: dict[str, EvalSet], right: dict[str, EvalSet], names: list[str] | None
) -> list[str]:
    for side, have in ((before, left), (after, right)):
        if not have:
            raise BadInput(f"run {side.run.id!r} has no evaluation: record one with run.log_eval, or import one")
    unknown = [name for name in names or () if name not in left or name not in right]
    if unknown:
        raise BadInput(
            f"no set {unknown[0]!r} in both runs; {before.run.id} has {', '.join(left)}; {after.run.id} has "
            f"{', '.join(right)}"
        )
    at = [name for name in names or left if name in right and _has(left[name], before) and _has(right[name], after)]
    if not at:
        raise BadInput(f"the two have no evaluation set in common: {_where(before, left)}; {_where(after, right)}")
    return at


def _has(evals: EvalSet, side: Evaluated) -> bool:
    return side.step is None or evals.number_of(side.step) is not None


def _where(side: Evaluated, have: dict[str, EvalSet]) -> str:
    steps = {name: [*map(int, evals.steps)] for name, evals in have.items()}
    return f"{side.run.id} has " + ", ".join(f"{name} at steps {_few(at)}" for name, at in steps.items())


def _few(steps: list[int]) -> str:
    return ", ".join(map(str, steps[:3])) + (f" to {steps[-1]}" if len(steps) > 3 else "")


def _pair(before: Evaluated, after: Evaluated, left: EvalSet, right: EvalSet, score: str | None) -> Pairing:
    main = score if score is not None else _main_score(left, right)
    sides = before.side(left, main), after.side(right, main)
    for side in sides:
        _refuse_unsound(side)
    pairing = pair(*sides)
    _refuse_other_range(left.name, pairing)
    if pairing.result.n < 2 or math.isnan(pairing.result.p):
        raise BadInput(
            f"set {left.name!r} has {pairing.result.n} tasks with a score {main!r} in both evaluations;"
            " two or more of the same tasks are needed to compare them"
        )
    return pairing


def _main_score(left: EvalSet, right: EvalSet) -> str:
    common = [score for score in left.scores if score in right.scores]
    if not common:
        raise BadInput(
            f"set {left.name!r} has no score in common: {', '.join(left.scores) or 'none'} before,"
            f" {', '.join(right.scores) or 'none'} after"
        )
    return common[0]


def _refuse_other_range(name: str, pairing: Pairing) -> None:
    """Shares on one side and per cents on the other would look like a large change."""
    ends = [(float(side.min()), float(side.max())) for side in (pairing.a, pairing.b) if len(side)]
    shares = [low >= 0 and high <= 1 for low, high in ends]
    if sum(shares) == 1 and max(high for _, high in ends) > LARGE:
        said = " and ".join(f"{low:g} to {high:g} {when}" for (low, high), when in zip(ends, WHEN, strict=True))
        raise BadInput(f"set {name!r} has scores of {said}: one seems to be in per cent; record both in one unit")


def _refuse_unsound(side: Side) -> None:
    """Two rows of one repeat are two evaluations in one, and NaN is no score: nothing follows."""
    evals = side.scores.set
    rows = np.flatnonzero(evals.at == side.at)
    where = f"set {evals.name!r} at step {side.step}"
    for row in rows[evals.broken[rows]][:1]:
        raise BadInput(f"{where}: task {evals.tasks[evals.task[row]]!r} has a score that is NaN or infinite")
    given = rows[evals.repeat[rows] >= 0]
    pairs, counts = np.unique(np.stack([evals.task[given], evals.repeat[given]]), axis=1, return_counts=True)
    for task, repeat in pairs[:, counts > 1].T[:1]:
        name = evals.tasks[task]
        raise BadInput(
            f"{where}: task {name!r} has repeat {repeat} more than once; evaluate it once, or number repeats"
        )
