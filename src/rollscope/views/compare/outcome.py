"""Which of two configurations is better, by how much, with what certainty.

With two runs or more on each side, runs are the unit. With one run on a side, the tasks of an
evaluation are: then the interval says how sure the set is, not how another seed would have done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rollscope.statistics import interval, seeds
from rollscope.store.run import Run
from rollscope.views.dictionary import meanings_of
from rollscope.views.evals.pairing import Side, pair
from rollscope.views.evals.sets import EvalSet, sets
from rollscope.views.evals.task_scores import task_scores

from .replicas import Group

TAIL = 0.05  # the end of a series: this part of its points, and at least ENOUGH of them
ENOUGH = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """B against A in one number."""

    name: str  # an evaluation set, or a metric
    score: str  # of the set; empty for a metric
    a: float
    b: float
    low: float
    high: float
    p: float
    unit: Literal["runs", "tasks", "none"]  # what the interval stands on
    n: tuple[int, int]  # runs, or tasks, on each side
    improvement: float  # probability that a run of B beats one of A; NaN with one run
    graded: bool  # a score of 0 to 1

    @property
    def difference(self) -> float:
        return self.b - self.a

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes no difference."""
        return self.low > 0 or self.high < 0


def end_of(run: Run, metric: str) -> float:
    """The mean of the end of a series, by our name; NaN if the run lacks it."""
    names = meanings_of(run, [str(name) for name in run.metrics()["name"]])
    if metric not in names:
        return math.nan
    meaning = names[metric]
    value = np.asarray(run.series(meaning.logged)["value"], np.float64) / meaning.scale
    known = value[np.isfinite(value)]
    return float(known[-max(ENOUGH, int(TAIL * len(known))) :].mean()) if len(known) else math.nan


def score_of(run: Run, name: str, step: int | None = None) -> float:
    """The mean over tasks of a set's first score, at a step or at its newest evaluation."""
    evals = sets(run).get(name)
    if evals is None or not evals.scores:
        return math.nan
    at = len(evals.steps) - 1 if step is None else evals.number_of(step)
    column = np.full(1, np.nan) if at is None else task_scores(evals).mean[:, at]
    return float(np.nanmean(column)) if np.isfinite(column).any() else math.nan


def common_step(runs: list[Run], name: str) -> int | None:
    """The newest step at which every run evaluated a set."""
    steps = [set(map(int, evals.steps)) for run in runs if (evals := sets(run).get(name)) is not None]
    both = set.intersection(*steps) if len(steps) == len(runs) and steps else set()
    return max(both, default=None)


def on_evals(a: Group, b: Group) -> list[Outcome]:
    """One outcome for each evaluation set that every run of both has at a common step."""
    names = set.intersection(*(set(sets(run)) for run in (*a.runs, *b.runs)))
    steps = {name: common_step([*a.runs, *b.runs], name) for name in sorted(names)}
    return [_on_set(a, b, name, step) for name, step in steps.items() if step is not None]


def _on_set(a: Group, b: Group, name: str, step: int) -> Outcome:
    left, right = ([score_of(run, name, step) for run in group.runs] for group in (a, b))
    evals = sets(a.runs[0])[name], sets(b.runs[0])[name]
    graded = all(task_scores(one).is_graded for one in evals)
    if len(left) >= 2 and len(right) >= 2:
        return _by_runs(name, evals[0].main_score, left, right, graded)
    return _by_tasks(name, evals, step, graded)


def on_metric(a: Group, b: Group, metric: str) -> Outcome:
    """The ends of a series of both."""
    left, right = ([end_of(run, metric) for run in group.runs] for group in (a, b))
    if min(len(left), len(right)) >= 2 and not any(map(math.isnan, (*left, *right))):
        return _by_runs(metric, "", left, right, False)
    nan = math.nan
    ends = float(np.mean(left)), float(np.mean(right))
    return Outcome(metric, "", *ends, nan, nan, nan, "none", (len(left), len(right)), nan, False)


def _by_runs(name: str, score: str, a: list[float], b: list[float], graded: bool) -> Outcome:
    _, low, high, p = interval.welch(a, b)
    ends = float(np.mean(a)), float(np.mean(b))
    better = seeds.improvement(a, b) if np.isfinite([*a, *b]).all() else math.nan
    return Outcome(name, score, *ends, low, high, p, "runs", (len(a), len(b)), better, graded)


def _by_tasks(name: str, evals: tuple[EvalSet, EvalSet], step: int, graded: bool) -> Outcome:
    common = [score for score in evals[0].scores if score in evals[1].scores]
    score = common[0] if common else evals[0].main_score
    found = pair(Side(task_scores(evals[0], score), step), Side(task_scores(evals[1], score), step))
    r = found.result
    ends = (float(found.a.mean()), float(found.b.mean())) if r.n else (math.nan, math.nan)
    return Outcome(name, score, *ends, r.low, r.high, r.p, "tasks", (r.n, r.n), math.nan, graded)
