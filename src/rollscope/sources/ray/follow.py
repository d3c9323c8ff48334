"""Decide which calls become spans: each once, when its step is known.

A call that takes longer than a second is shown as under way. Left out are calls shorter than a
millisecond, those of the process that holds the run (it records its own work), and those through
many steps: they are loops, such as the one that trains, and no work of one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .lanes import Lanes
from .steps import Steps
from .task import Task

SHORTEST = 1_000_000  # nanoseconds of a call that is recorded
SHOWN = 1_000_000_000  # nanoseconds after which a call is shown as under way
MOST_STEPS = 4  # that a call may go through
Key = tuple[str, int]


class Follow:
    def __init__(self, run: Any, steps: Steps, own: str) -> None:
        self._run, self._steps, self._own = run, steps, own
        self._lanes = Lanes()
        self._names: Mapping[str, str] = {}  # of actors
        self._machines: Mapping[str, str] = {}  # of nodes
        self._running: dict[Key, Task] = {}
        self._recorded: set[Key] = set()
        self._held: dict[Key, Task] = {}  # ended, and their step has not been logged
        self._open: dict[Key, Any] = {}

    def learn(self, tasks: Iterable[Task]) -> bool:
        """Take in what Ray knows now; tells whether there are workers that it had not before."""
        others = {task.key: task for task in tasks if task.worker != self._own}
        self._recorded &= others.keys()  # Ray forgets, and so do we
        ended = {key: task for key, task in others.items() if task.end_ns and key not in self._recorded}
        self._running = {key: task for key, task in others.items() if not task.end_ns}
        self._held |= ended
        return self._lanes.learn([*others.values()])

    def name(self, actors: Mapping[str, str], nodes: Mapping[str, str]) -> None:
        """Take in what actors and machines are called, by their ids."""
        self._names, self._machines = actors, nodes

    def record(self, now_ns: int, is_last: bool = False) -> None:
        """Record what has ended and whose step is known; at the end, everything."""
        for key, task in sorted(self._held.items(), key=lambda item: item[1].start_ns):
            self._over(key)
            step = self._steps.at(task.start_ns)
            if step is not None or is_last:
                self._put(task, task.end_ns, step)
                del self._held[key]
                self._recorded.add(key)
        for key, task in self._running.items():
            if is_last:
                self._over(key)
                self._put(task, now_ns, self._steps.at(task.start_ns), unfinished=True)
            elif now_ns - task.start_ns > SHOWN and key not in self._open and not self._is_loop(task, now_ns):
                span = self._run.span(task.name, self._lanes.of(task), step=self._steps.next)
                self._open[key] = span.announce(task.start_ns)

    def _put(self, task: Task, end_ns: int, step: int | None, **more: Any) -> None:
        if end_ns - task.start_ns < SHORTEST or self._is_loop(task, end_ns):
            return
        facts = {
            "queued_ns": task.handed_ns,
            "pid": task.pid,
            "machine": self._machines.get(task.node),
            "actor": self._names.get(task.actor),
            "error": task.error,
            **more,
        }
        self._run.log_span(
            task.name,
            task.start_ns,
            end_ns,
            self._lanes.of(task),
            step=self._steps.last if step is None else step,
            **{key: value for key, value in facts.items() if value},
        )

    def _is_loop(self, task: Task, end_ns: int) -> bool:
        return self._steps.through(task.start_ns, end_ns) > MOST_STEPS

    def _over(self, key: Key) -> None:
        if span := self._open.pop(key, None):
            span.over()
