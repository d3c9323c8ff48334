"""The same tasks in two groups of runs: who solved which, by most of its seeds.

Tasks are those of an evaluation set, or the prompts of training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rollscope.store.run import Run
from rollscope.views.evals.sets import sets
from rollscope.views.evals.task_scores import task_scores
from rollscope.views.samples.prompts import prompts

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Solved:
    """Tasks of both, by who solved them; each task is in one list."""

    both: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    neither: tuple[str, ...]


def solved_shares(run: Run, name: str, step: int | None) -> dict[str, float]:
    """Task -> 1 if the run solved it at a step, 0 if not. A task without a score is absent."""
    evals = sets(run).get(name)
    at = None if evals is None or step is None else evals.number_of(step)
    if evals is None or at is None:
        return {}
    column = task_scores(evals).mean[:, at]
    return {task: float(value > HALF) for task, value in zip(evals.tasks, column, strict=True) if np.isfinite(value)}


def trained_shares(run: Run) -> dict[str, float]:
    """Prompt of training -> 1 if it was solved when it was last tried, 0 if not."""
    found = prompts(run)
    return {str(task): float(status == "solved") for task, status in zip(found["task"], found["status"], strict=True)}


def solved(a: Sequence[Mapping[str, float]], b: Sequence[Mapping[str, float]]) -> Solved:
    """Tasks that every run of both has. A group solved a task if more than half of its runs did."""
    common = set.intersection(*(set(one) for one in (*a, *b))) if a and b else set()
    lists: dict[tuple[bool, bool], list[str]] = {}
    for task in sorted(common):
        mine = [float(np.mean([run[task] for run in side])) > HALF for side in (a, b)]
        lists.setdefault((mine[0], mine[1]), []).append(task)
    order = ((True, True), (True, False), (False, True), (False, False))
    return Solved(*(tuple(lists.get(key, ())) for key in order))
