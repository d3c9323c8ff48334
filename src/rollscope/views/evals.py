"""Evaluations of a run: every set with its scores over steps, from the stored rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store.run import Run

ByTask = dict[Any, dict[Any, list[float]]]  # task -> repeat -> scores of its rows
ScoreColumns = dict[str, NDArray[Any]]


def evals(run: Run) -> dict[str, dict[str, ScoreColumns]]:
    """Set -> score -> columns `step`, `mean`, `tasks`, `rows` and `failed`.

    A task's repeats are averaged first, and before that the rows of a repeat. `failed` is a share
    of all rows; failed rows count in no mean.
    """
    failures: dict[tuple[str, int], list[bool]] = defaultdict(list)  # set and step -> did each row fail
    scores: dict[tuple[str, str], dict[int, ByTask]] = defaultdict(lambda: defaultdict(dict))  # set and score
    columns = run.evals()
    rows = zip(*(columns[name] for name in ("set", "step", "task", "repeat", "scores", "failed")), strict=True)
    for number, (name, step, task, repeat, values, failed) in enumerate(rows):
        failures[name, int(step)].append(bool(failed))
        key = ("row", number) if repeat is None or repeat != repeat else repeat
        for score, value in values.items() if isinstance(values, Mapping) and not failed else ():
            scores[name, score][int(step)].setdefault(task, {}).setdefault(key, []).append(float(value))
    sets: dict[str, dict[str, ScoreColumns]] = {}
    for (name, score), by_step in scores.items():
        sets.setdefault(name, {})[score] = _columns(by_step, {step: failures[name, step] for step in by_step})
    return sets


def _columns(by_step: dict[int, ByTask], failures: dict[int, list[bool]]) -> ScoreColumns:
    steps = sorted(by_step)
    means = [float(np.mean([_task_mean(repeats) for repeats in by_step[step].values()])) for step in steps]
    return {
        "step": np.array(steps, np.int64),
        "mean": np.array(means),
        "tasks": np.array([len(by_step[step]) for step in steps]),
        "rows": np.array([len(failures[step]) for step in steps]),
        "failed": np.array([np.mean(failures[step]) for step in steps]),
    }


def _task_mean(repeats: Mapping[Any, list[float]]) -> float:
    return float(np.mean([np.mean(rows) for rows in repeats.values()]))
