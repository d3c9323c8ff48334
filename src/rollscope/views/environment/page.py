"""Everything the Environment page shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.strict_json import Number, number

from .samples import Bools, Ended, Floats, Ints, ended
from .tools import ToolRow, tool_rows

MOST_COLUMNS = 120
MOST_TASKS = 24
MOST_WORKERS = 16
SHOWN = 6  # samples of a cause
FEW, MANY = 0.25, 0.6  # shares of steps or tasks


class CauseRow(TypedDict):
    """A cause. `failed` has a count for each column of steps."""

    name: str
    count: int
    zeros: int
    masked: int
    steps: int
    tasks: int
    reads: str
    failed: list[int]
    samples: list[str]


class TaskRow(TypedDict):
    name: str
    failed: int
    total: int
    share: list[Number]


class WorkerRow(TypedDict):
    name: str
    total: int
    failed: int
    p50: Number
    p95: Number


class EnvironmentShape(TypedDict):
    """Failures on a shared x: `steps` are the first steps of the columns, `until` ends the last."""

    title: str
    context: str
    steps: list[int]
    until: int
    samples: list[int]
    zeros: list[int]
    failed: int
    total: int
    trained_as_zero: int
    causes: list[CauseRow]
    tasks: list[TaskRow]
    task_count: int
    step_count: int
    workers: list[WorkerRow]
    tools: list[ToolRow]
    grading: list[Number]


def page(run: Run) -> EnvironmentShape:
    """The page of a run; empty lists where it has no samples."""
    rows = ended(run)
    steps = np.unique(rows.step)
    edges = steps[:: max(1, -(-len(steps) // MOST_COLUMNS))]
    column = np.searchsorted(edges, rows.step, side="right") - 1
    causes = [_cause(rows, i, column, len(edges)) for i in range(len(rows.causes))]
    title, context = _verdict(rows, causes, len(steps))
    return {
        "title": title,
        "context": context,
        "steps": edges.tolist(),
        "until": int(steps[-1]) + 1 if len(steps) else 0,
        "samples": np.bincount(column, minlength=len(edges)).tolist() if len(column) else [],
        "zeros": _count(column, rows.zero, len(edges)),
        "failed": int(rows.failed.sum()),
        "total": len(rows.step),
        "trained_as_zero": int(rows.zero.sum()),
        "causes": causes,
        "tasks": _tasks(rows, column, len(edges)),
        "task_count": len([name for name in rows.tasks if name]),
        "step_count": len(steps),
        "workers": _workers(rows),
        "tools": tool_rows(run),
        "grading": _p95(rows.grading, column, len(edges)),
    }


def _count(column: Ints, chosen: Bools, columns: int) -> list[int]:
    return np.bincount(column[chosen], minlength=columns).tolist()  # type: ignore[no-any-return]


def _cause(rows: Ended, i: int, column: Ints, columns: int) -> CauseRow:
    own = rows.cause == i
    steps, tasks = len(np.unique(rows.step[own])), len(np.unique(rows.task[own]))
    return {
        "name": rows.causes[i],
        "count": int(own.sum()),
        "zeros": int((own & rows.zero).sum()),
        "masked": int((own & rows.masked).sum()),
        "steps": steps,
        "tasks": tasks,
        "reads": _reads(rows, own, steps, tasks),
        "failed": _count(column, own, columns),
        "samples": [rows.id[k] for k in np.flatnonzero(own)[:SHOWN]],
    }


def _reads(rows: Ended, own: Bools, steps: int, tasks: int) -> str:
    """What the spread of a cause over steps and tasks says. Few failures say nothing."""
    in_steps = steps / max(1, len(np.unique(rows.step)))
    in_tasks = tasks / max(1, len(rows.tasks))
    if own.sum() < SHOWN or len(rows.tasks) < 3:
        return ""
    if in_steps <= FEW and in_tasks >= MANY:
        return "the environment"
    if in_tasks <= FEW and in_steps > FEW:
        return "hard tasks"
    return "one worker" if _in_one_worker(rows, own) else "scattered"


def _in_one_worker(rows: Ended, own: Bools) -> bool:
    counts = np.bincount(rows.worker[own], minlength=len(rows.workers))
    return len(rows.workers) > 2 and bool(counts.max() >= 0.9 * counts.sum())


def _tasks(rows: Ended, column: Ints, columns: int) -> list[TaskRow]:
    """The tasks that fail most, the worst first."""
    failed = np.bincount(rows.task, rows.failed, minlength=len(rows.tasks))
    order = [i for i in np.argsort(-failed, kind="stable").tolist() if failed[i] and rows.tasks[i]]
    return [_task(rows, i, column, columns) for i in order[:MOST_TASKS]]


def _task(rows: Ended, i: int, column: Ints, columns: int) -> TaskRow:
    own = rows.task == i
    total = np.bincount(column[own], minlength=columns)
    failed = np.bincount(column[own & rows.failed], minlength=columns)
    share: list[Number] = [f / n if n else None for f, n in zip(failed.tolist(), total.tolist(), strict=True)]
    return {"name": rows.tasks[i], "failed": int((own & rows.failed).sum()), "total": int(own.sum()), "share": share}


def _workers(rows: Ended) -> list[WorkerRow]:
    found = [_worker(rows, i) for i in range(len(rows.workers))]
    return sorted(found, key=lambda row: -row["failed"] / max(1, row["total"]))[:MOST_WORKERS]


def _worker(rows: Ended, i: int) -> WorkerRow:
    own = rows.worker == i
    seconds = rows.seconds[own & (rows.seconds > 0)]
    p50, p95 = np.percentile(seconds, (50, 95)) if len(seconds) else (np.nan, np.nan)
    failed = int((own & rows.failed).sum())
    return {
        "name": rows.workers[i],
        "total": int(own.sum()),
        "failed": failed,
        "p50": _known(p50),
        "p95": _known(p95),
    }


def _p95(values: Floats, column: Ints, columns: int) -> list[Number]:
    known = np.isfinite(values)
    if not known.any():
        return []
    parts = [values[known & (column == i)] for i in range(columns)]
    return [_known(np.percentile(part, 95)) if len(part) else None for part in parts]


def _known(value: Any) -> Number:
    return number(value) if np.isfinite(value) else None


def _verdict(rows: Ended, causes: list[CauseRow], steps: int) -> tuple[str, str]:
    failed, total = int(rows.failed.sum()), len(rows.step)
    if not total:
        return "No samples yet", "run.log_samples(...) with `error` and `stop_reason` fills this page."
    if not failed:
        return "No sample failed outside the policy", f"{total:,} samples over {steps:,} steps."
    worst = max(causes, key=lambda row: (row["reads"] == "the environment", row["zeros"], row["count"]))
    zeros = f", {worst['zeros']:,} of them trained on as zeros" if worst["zeros"] else ""
    title = f"{worst['count']:,} samples failed: {worst['name']}{zeros}"
    return title, f"{_why(worst, rows, steps)} {failed:,} of {total:,} samples failed in all."


def _why(worst: CauseRow, rows: Ended, steps: int) -> str:
    spread = f"{worst['steps']:,} of {steps:,} steps, {worst['tasks']:,} of {len(rows.tasks):,} tasks"
    words = {
        "the environment": "They bunch in time across tasks: the environment, not the policy",
        "hard tasks": "They bunch in few tasks, at any time: hard tasks, where zero is right",
        "one worker": "They come from one worker",
        "scattered": "They are scattered over steps and tasks",
    }
    return f"{words[worst['reads']]} ({spread})." if worst["reads"] else f"They are in {spread}."
