"""A score over steps: its mean with an interval by task, its best step, what the set can show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rollscope.catalog import drawing
from rollscope.statistics import interval, power

from .sets import Floats, Ints
from .task_scores import TaskScores


@dataclass(frozen=True, slots=True)
class History:
    """One score of a set, a number for each step at which it was evaluated."""

    steps: Ints
    mean: Floats
    low: Floats
    high: Floats
    tasks: Ints  # with a score
    failed: Ints  # tasks without one, though they were tried
    best: int | None  # step of the highest mean
    detectable: float  # smallest difference that the newest evaluation could show, paired


def history(scores: TaskScores) -> History:
    known = np.isfinite(scores.mean)
    estimates = [_estimate(scores, at) for at in range(len(scores.set.steps))]
    mean = np.array([estimate.value for estimate in estimates])
    ends = np.array([estimate.interval() for estimate in estimates]).reshape(-1, 2)
    best = int(scores.set.steps[np.nanargmax(mean)]) if np.isfinite(mean).any() else None
    tasks = known.sum(axis=0)
    steps = scores.set.steps
    return History(steps, mean, ends[:, 0], ends[:, 1], tasks, scores.tasks_failed(), best, detectable(scores))


def _estimate(scores: TaskScores, at: int) -> interval.Estimate:
    column = scores.mean[:, at]
    known = np.isfinite(column)
    return interval.mean(column[known], clusters_of(scores, known))


def clusters_of(scores: TaskScores, known: np.ndarray) -> list[str] | None:
    clusters = scores.set.clusters
    return None if clusters is None else [clusters[i] for i in np.flatnonzero(known)]


def detectable(scores: TaskScores) -> float:
    """The smallest difference that two evaluations like the newest could show with 80 % power.

    Taken from the two newest evaluations, by task. With one, as if tasks were drawn again.
    """
    columns = scores.mean[:, np.isfinite(scores.mean).any(axis=0)]
    if not columns.shape[1]:
        return math.nan
    if columns.shape[1] == 1:
        known = np.isfinite(columns[:, 0])
        return power.detectable_alone(columns[known, 0], clusters_of(scores, known))
    gap = columns[:, -1] - columns[:, -2]
    known = np.isfinite(gap)
    return power.detectable(gap[known], clusters_of(scores, known)) if known.any() else math.nan


def pass_at_k(scores: TaskScores, step: int) -> dict[int, float]:
    """k -> the chance that one of k repeats is right, unbiased, over tasks with so many repeats.

    Empty if a score is neither 0 nor 1, or if no task has two repeats.
    """
    evals, at = scores.set, scores.set.number_of(step)
    value = evals.values.get(scores.score, np.zeros(0))
    rows = np.flatnonzero((evals.at == at) & np.isfinite(value)) if at is not None and len(value) else np.zeros(0, int)
    if not len(rows) or not np.isin(value[rows], (0.0, 1.0)).all():
        return {}
    _, task = np.unique(evals.task[rows], return_inverse=True)
    tried, right = np.bincount(task), np.bincount(task, value[rows])
    kinds, tasks = np.unique(np.stack([tried, right.astype(int)]), axis=1, return_counts=True)
    repeats = [np.repeat((1.0, 0.0), (c, n - c)) for n, c in kinds.T]
    return {
        k: float(np.average([drawing.best(one, k) for one in repeats], weights=tasks))
        for k in range(1, int(tried.min()) + 1)
    }
