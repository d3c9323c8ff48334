"""A prompt at several steps: its last visit before a step, and its groups at each visit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views import nullable

from . import sample_steps
from .prompts import history, prompts
from .reward_ranges import reward_range

MOST_VISITS = 60
COLUMNS = ("id", "step", "group", "task", "reward", "split")


def prompt_table(run: Run) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Head and columns: every prompt with its status, and its visits one after the other."""
    visits, each = history(run), prompts(run)
    steps, sample_of = sample_steps.steps(run), sample_steps.samples_of_tasks(run)
    tasks = each["task"].tolist()
    head = {
        "tasks": tasks,
        "status": each["status"].tolist(),
        "samples": [sample_of.get(task, "") for task in tasks],
        "first": int(steps[0]) if len(steps) else 0,
        "last": int(steps[-1]) if len(steps) else 0,
        "range": reward_range(run.declared, np.asarray(visits["mean"], np.float64)),
    }
    columns = {
        "count": each["steps"].astype(np.uint32),
        "step": visits["step"].astype(np.float64),
        "mean": visits["mean"].astype(np.float64),
        "n": visits["n"].astype(np.uint32),
        "passed": visits["passed"].astype(np.float64),
    }
    return head, columns


def visits_before(run: Run, step: int) -> dict[str, list[float]]:
    """Task of a step -> the step of its visit before, and its mean reward then."""
    visits = history(run)
    at = np.flatnonzero(visits["step"] == step)
    at = at[at > 0]
    before = at[visits["task"][at - 1] == visits["task"][at]] - 1
    names, tasks = visits["names"], visits["task"]
    return {names[tasks[i]]: [int(visits["step"][i]), float(visits["mean"][i])] for i in before.tolist()}


def prompt_visits(run: Run, task: str, near: int | None) -> dict[str, Any]:
    """The groups of a prompt at its newest visits, or at those around the step `near`."""
    visits = history(run)
    index = visits["names"].index(task) if task in visits["names"] else -1
    steps = visits["step"][visits["task"] == index]
    end = len(steps) if near is None else int(np.searchsorted(steps, near, "right")) + MOST_VISITS // 2
    chosen = steps[:end][-MOST_VISITS:]
    groups = _groups(run, task, chosen.tolist()) if len(chosen) else {}
    rows = [{"step": step, "group": group, "samples": samples} for (step, group), samples in sorted(groups.items())]
    return {"visits": rows, "total": len(steps)}


def _groups(run: Run, task: str, steps: list[int]) -> dict[tuple[int, str], list[list[Any]]]:
    """Step and group -> id and reward of each sample of the task. Evaluations are left out."""
    columns = arrow.numpy(run.samples_of_steps(list(COLUMNS), steps), tables.types("samples"))
    groups: dict[tuple[int, str], list[list[Any]]] = {}
    for id, step, group, name, reward, split in zip(*(columns[name] for name in COLUMNS), strict=True):
        if name == task and split != "eval":
            groups.setdefault((int(step), str(group or task)), []).append([id, nullable.cell(reward)])
    return groups
