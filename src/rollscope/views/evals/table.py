"""Tasks of two evaluations as lines of CSV: learnt, lost, never solved, with their tags."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from rollscope.visible import csv_cell

from .pairing import Side, pair
from .task_scores import TaskScores

HEAD = ("task", "before", "after", "change", "what", "ever_solved", "cluster", "tags")


def task_lines(scores: TaskScores, before: int, after: int) -> Iterator[str]:
    """A line per task that either evaluation tried."""
    sides = Side(scores, before), Side(scores, after)
    kinds = {task: kind for kind, tasks in pair(*sides).kinds.items() for task in tasks}
    left, right = sides[0].means(), sides[1].means()
    ever = np.any([scores.solved(at) for at in range(len(scores.set.steps))], axis=0)
    yield _line(HEAD)
    for number, task in enumerate(scores.set.tasks):
        if task in left or task in right:
            a, b = left.get(task, np.nan), right.get(task, np.nan)
            about = "yes" if ever[number] else "no", *_about(scores, number)
            yield _line((task, _cell(a), _cell(b), _cell(b - a), kinds.get(task, "once"), *about))


def _about(scores: TaskScores, task: int) -> tuple[str, str]:
    cluster = "" if scores.set.clusters is None else scores.set.clusters[task]
    return cluster, " ".join(scores.set.tags[task])


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"


def _line(cells: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([csv_cell(cell) for cell in cells])
    return text.getvalue()
