"""Two evaluations of the same tasks: the paired difference, and which tasks were learnt or lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.errors import BadInput
from rollscope.statistics.paired import Paired, equivalent, paired, worse

from .sets import EvalSet, Floats
from .task_scores import TaskScores

KINDS = ("right", "learnt", "lost", "wrong_otherwise", "wrong_alike", "failed")


@dataclass(frozen=True, slots=True)
class Side:
    """One evaluation: a score of a set at a step."""

    scores: TaskScores
    step: int

    @property
    def at(self) -> int:
        number = self.scores.set.number_of(self.step)
        if number is None:
            steps = ", ".join(str(step) for step in self.scores.set.steps[-8:])
            raise BadInput(f"set {self.scores.set.name!r} was not evaluated at step {self.step}; it was at {steps}")
        return number

    def means(self) -> dict[str, float]:
        """Task -> its mean; NaN if every repeat failed. A task that was not tried is absent."""
        column, tried = self.scores.mean[:, self.at], self._tried()
        return {task: float(column[i]) for i, task in enumerate(self.scores.set.tasks) if tried[i]}

    def _tried(self) -> Any:
        return (self.scores.repeats[:, self.at] + self.scores.failed[:, self.at]) > 0


@dataclass(frozen=True, slots=True)
class Pairing:
    """What changed from one evaluation to another."""

    before: Side
    after: Side
    tasks: tuple[str, ...]  # with a score in both
    a: Floats
    b: Floats
    result: Paired
    kinds: Mapping[str, tuple[str, ...]]  # kind of flip -> tasks; every task of both is in one
    clusters: tuple[str, ...] | None
    alone: tuple[int, int]  # tasks that were tried before only, and after only

    def worse(self, margin: float = 0.0) -> float:
        """p of the claim that the score fell by more than a margin."""
        return worse(self.a, self.b, margin, self.clusters)

    def equivalent(self, margin: float) -> float:
        """p of the claim that the two differ by less than a margin."""
        return equivalent(self.a, self.b, margin, self.clusters)


def pair(before: Side, after: Side) -> Pairing:
    """Compare two evaluations over the tasks that were tried in both."""
    left, right = before.means(), after.means()
    tried = [task for task in left if task in right]
    tasks = tuple(task for task in tried if np.isfinite(left[task]) and np.isfinite(right[task]))
    a, b = np.array([left[t] for t in tasks]), np.array([right[t] for t in tasks])
    clusters = _clusters(before.scores.set, tasks)
    kinds = _kinds(before, after, tasks, a, b)
    known = set(tasks)
    kinds["failed"] = tuple(task for task in tried if task not in known)
    alone = len(left.keys() - right.keys()), len(right.keys() - left.keys())
    return Pairing(before, after, tasks, a, b, paired(a, b, clusters), kinds, clusters, alone)


def _clusters(evals: EvalSet, tasks: tuple[str, ...]) -> tuple[str, ...] | None:
    if evals.clusters is None:
        return None
    of = dict(zip(evals.tasks, evals.clusters, strict=True))
    return tuple(of[task] for task in tasks)


def _kinds(before: Side, after: Side, tasks: tuple[str, ...], a: Floats, b: Floats) -> dict[str, tuple[str, ...]]:
    """Sort tasks by what happened to them.

    Scores of 0 to 1 are right above a half. Other scores have no right: a task is learnt if it
    rose and lost if it fell.
    """
    if before.scores.is_graded and after.scores.is_graded:
        was, is_now = a > 0.5, b > 0.5
        learnt, lost, right = ~was & is_now, was & ~is_now, was & is_now
    else:
        learnt, lost, right = b > a, b < a, np.zeros(len(a), bool)
    otherwise = ~(learnt | lost | right) & _other_answers(before, after, tasks)
    masks = {"right": right, "learnt": learnt, "lost": lost, "wrong_otherwise": otherwise}
    masks["wrong_alike"] = ~np.any([*masks.values()], axis=0) if len(a) else np.zeros(0, bool)
    return {kind: tuple(task for task, hit in zip(tasks, mask, strict=True) if hit) for kind, mask in masks.items()}


def _other_answers(before: Side, after: Side, tasks: tuple[str, ...]) -> Any:
    """The tasks whose answers are known in both and have none in common."""
    left, right = _answers(before), _answers(after)
    known = [(left.get(task), right.get(task)) for task in tasks]
    return np.array([bool(one and other and not one & other) for one, other in known], bool)


def _answers(side: Side) -> dict[str, set[str]]:
    evals = side.scores.set
    rows = np.flatnonzero(evals.at == side.at)
    said: dict[str, set[str]] = {}
    for row in rows:
        if evals.answer[row] is not None:
            said.setdefault(evals.tasks[evals.task[row]], set()).add(str(evals.answer[row]))
    return said
