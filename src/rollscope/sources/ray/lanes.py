"""Name the lane of each worker: `ray:WorkerDict/3`, `ray:tasks/0`.

Actors of a class are numbered in the order in which the program made them, which is the order of
their ranks. Tasks of no actor are on the lane of the process that ran them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .task import START, Task

RAY = "ray:"
TASKS = "tasks"


class Lanes:
    def __init__(self) -> None:
        self._lanes: dict[str, str] = {}  # id of an actor, or of a process -> its lane
        self._count: dict[str, int] = defaultdict(int)

    def learn(self, tasks: Sequence[Task]) -> bool:
        """Number the workers that are new; tells whether there are any."""
        new = [task for task in tasks if unit(task) not in self._lanes]
        for task in sorted(new, key=_made):
            self._add(unit(task), task.cls or TASKS)
        return bool(new)

    def _add(self, who: str, word: str) -> None:
        if who not in self._lanes:
            self._lanes[who] = f"{RAY}{word}/{self._count[word]}"
            self._count[word] += 1

    def of(self, task: Task) -> str:
        return self._lanes[unit(task)]


def unit(task: Task) -> str:
    """Who did it: an actor, or a process that runs tasks."""
    return task.actor or task.worker


def _made(task: Task) -> tuple[bool, int]:
    """Actors whose making is known come first, in the order of it."""
    return task.kind != START, task.handed_ns or task.start_ns
