"""Seconds of rollouts by task: a task's repeats are averaged first, then the tasks."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials.per_group import PerGroup
from rollscope.catalog.sequence import floats
from rollscope.catalog.spec import Name, metric

from .group import by_task

key("run_seconds", "sample", "wall seconds of the whole rollout of a sample")
key("task_seconds", "sample", "wall seconds of the whole task a sample belongs to")


def _by_task(seconds: Any, tasks: Any, outer: str, runs: Any = None) -> PerGroup:
    reduced: PerGroup = by_task(floats(seconds), tasks, runs, outer)
    return reduced


@metric(
    "sample_time/run_by_task/mean",
    unit="s",
    good="down",
    range=(0, None),
    example="task a took 2 s and 4 s, task b 5 s: 4",
    names=(Name("trinity", "rollout/time/run_execution/mean", note="includes failed tasks"),),
)
def run_mean(run_seconds_S: Any, tasks_S: Any, runs_S: Any = None) -> PerGroup:
    """Time of a rollout, averaged over a task's repeats and then over tasks.

    Definition: run_seconds of a task's repeats averaged, then the mean over tasks. A repeat with
    several samples counts once.

    Read: The cost of one attempt, with every prompt counting the same.

    Check: sample_time/run_by_task/max; sample_time/generate/mean.
    """
    return _by_task(run_seconds_S, tasks_S, "mean", runs_S)


@metric(
    "sample_time/run_by_task/max",
    unit="s",
    good="down",
    range=(0, None),
    example="task a took 2 s and 4 s, task b 5 s: 5",
    names=(Name("trinity", "rollout/time/run_execution/max", note="includes failed tasks"),),
)
def run_max(run_seconds_S: Any, tasks_S: Any, runs_S: Any = None) -> PerGroup:
    """Mean time of a rollout in the slowest task.

    Definition: run_seconds of a task's samples averaged, then the highest over tasks.

    Read: Every other task waits for this one.

    Check: the samples of that task; tool/by_name/{tool}/seconds_per_call.
    """
    return _by_task(run_seconds_S, tasks_S, "max", runs_S)


@metric(
    "sample_time/run_by_task/min",
    unit="s",
    good="down",
    range=(0, None),
    example="task a took 2 s and 4 s, task b 5 s: 3",
    names=(Name("trinity", "rollout/time/run_execution/min", note="includes failed tasks"),),
)
def run_min(run_seconds_S: Any, tasks_S: Any, runs_S: Any = None) -> PerGroup:
    """Mean time of a rollout in the fastest task.

    Definition: run_seconds of a task's samples averaged, then the lowest over tasks.

    Read: Compare with the highest to see how uneven the tasks are.

    Check: sample_time/run_by_task/max.
    """
    return _by_task(run_seconds_S, tasks_S, "min", runs_S)


@metric(
    "sample_time/task/mean",
    unit="s",
    good="down",
    range=(0, None),
    example="tasks of 4 s and 6 s: 5",
    names=(Name("trinity", "rollout/time/task_execution/mean"),),
)
def task_mean(task_seconds_S: Any, tasks_S: Any) -> PerGroup:
    """Time of a task with all its repeats, averaged over tasks.

    Definition: task_seconds, one value per task, then the mean over tasks.

    Read: If repeats run in parallel, it is close to the time of the slowest repeat.

    Check: sample_time/task/max.
    """
    return _by_task(task_seconds_S, tasks_S, "mean")


@metric(
    "sample_time/task/max",
    unit="s",
    good="down",
    range=(0, None),
    example="tasks of 4 s and 6 s: 6",
    names=(Name("trinity", "rollout/time/task_execution/max"),),
)
def task_max(task_seconds_S: Any, tasks_S: Any) -> PerGroup:
    """Time of the slowest task with all its repeats.

    Definition: task_seconds, one value per task, then the highest over tasks.

    Read: The exploration step ends when this task ends.

    Check: the samples of that task.
    """
    return _by_task(task_seconds_S, tasks_S, "max")


@metric(
    "sample_time/task/min",
    unit="s",
    good="down",
    range=(0, None),
    example="tasks of 4 s and 6 s: 4",
    names=(Name("trinity", "rollout/time/task_execution/min"),),
)
def task_min(task_seconds_S: Any, tasks_S: Any) -> PerGroup:
    """Time of the fastest task with all its repeats.

    Definition: task_seconds, one value per task, then the lowest over tasks.

    Read: Compare with the highest to see how uneven the tasks are.

    Check: sample_time/task/max.
    """
    return _by_task(task_seconds_S, tasks_S, "min")
