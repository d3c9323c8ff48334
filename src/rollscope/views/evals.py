"""Evaluations of a run: every set with its scores over steps, from the rows that were kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def evals(run: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Set -> score -> columns `step`, `mean` (a task's repeats averaged first), `tasks`, `rows`, `failed` (share of all rows). Failed rows count in no mean."""
    found = run.evals()
    cells: dict[str, dict[str, dict[int, dict[Any, list[float]]]]] = {}
    rows: dict[tuple[str, int], list[bool]] = {}
    for name, step, task, scores, failed in zip(
        found["set"], found["step"], found["task"], found["scores"], found["failed"], strict=True
    ):
        rows.setdefault((name, int(step)), []).append(bool(failed))
        for score, value in scores.items() if isinstance(scores, Mapping) and not failed else ():
            cells.setdefault(name, {}).setdefault(score, {}).setdefault(int(step), {}).setdefault(task, []).append(
                float(value)
            )
    return {
        name: {score: _columns(by_step, name, rows) for score, by_step in scores.items()}
        for name, scores in cells.items()
    }


def _columns(
    by_step: dict[int, dict[Any, list[float]]], name: str, rows: dict[tuple[str, int], list[bool]]
) -> dict[str, Any]:
    steps = sorted(by_step)
    means = [float(np.mean([np.mean(values) for values in by_step[step].values()])) for step in steps]
    return {
        "step": np.array(steps, np.int64),
        "mean": np.array(means),
        "tasks": np.array([len(by_step[step]) for step in steps]),
        "rows": np.array([len(rows[name, step]) for step in steps]),
        "failed": np.array([np.mean(rows[name, step]) for step in steps]),
    }
