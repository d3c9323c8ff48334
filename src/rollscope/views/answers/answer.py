"""The answer for one step: its critical path, its lanes, its waits, and what would save time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rollscope.store.run import Run
from rollscope.views.timeline.path import Part, walk
from rollscope.views.timeline.shares import Share, shares
from rollscope.views.timeline.waits import Wait, trainer_waits
from rollscope.views.timeline.window import AROUND, Window, batches_of, rows_around, usual_step, window

from .levers import Lever, best, levers

MOST_WAITS = 5
MOST_LEVERS = 5
PLAYED_STEPS = 8  # steps that are played again, at most
PLAYED_SEGMENTS = 1500  # and segments of them


@dataclass(slots=True)
class Answer:
    window: Window
    path: list[Part]
    shares: list[Share]
    waits: list[Wait]  # the longest first
    levers: list[Lever]  # the best first

    @property
    def wall(self) -> float:
        return self.window.wall / 1e9

    @property
    def without_waiting(self) -> float:
        """What the step would take if the lane that ends it never waited."""
        lane = self.window.graph.lane(self.window.last)
        return self.wall - sum(wait.ns for wait in self.waits if wait.lane == lane) / 1e9

    def json(self) -> dict[str, Any]:
        return {
            "step": self.window.step,
            "wall_s": self.wall,
            "starts_ns": self.window.start,
            "ends_ns": self.window.end,
            "without_waiting_s": self.without_waiting,
            "path": [
                {"phase": p.phase, "lane": p.lane, "sample": p.sample, "seconds": p.seconds, "start_ns": p.start}
                for p in self.path
            ],
            "lanes": [share.json() for share in self.shares],
            "waits": [_wait(wait) for wait in self.waits[:MOST_WAITS]],
            "levers": [lever.json() for lever in best(self.levers, MOST_LEVERS)],
            "notes": notes(self.window),
        }


def _wait(wait: Wait) -> dict[str, Any]:
    columns = {"lane": wait.lane, "reason": wait.reason, "for": wait.on, "sample": wait.sample}
    return {**columns, "seconds": wait.seconds, "start_ns": wait.start, "says": wait.says}


def notes(window: Window) -> list[str]:
    """What a reader must know about these numbers."""
    found = [shift.says for shift in window.shifts]
    if window.is_first:
        found.append(f"No spans of step {window.step - 1}: step {window.step} is measured from its first span.")
    return found


def answer(run: Run, step: int | None = None) -> Answer:
    """The answer for a step, by default the last complete one."""
    at = usual_step(run) if step is None else step
    one = _steps(run, at, 1)
    path = walk(one.graph, one.last, one.start)
    waits = trainer_waits(one)
    of_units, others = shares(one, waits)
    size = max(1, len(one.graph) // 2)  # the graph holds the step before, too
    steps = max(1, min(PLAYED_STEPS, PLAYED_SEGMENTS // size))
    several = one if steps == 1 else _steps(run, at, steps)
    longest = sorted([*waits, *others], key=lambda wait: -wait.ns)
    return Answer(one, path, of_units, longest, levers(several, _count(several)))


def _steps(run: Run, last: int, count: int) -> Window:
    """Some steps that end with one, and what reaches into them."""
    rows = rows_around(run, last, count - 1 + AROUND)
    return window(rows, last, batches_of(run, rows, list(range(last - count, last + AROUND + 1))), count)


def _count(several: Window) -> int:
    """How many steps a window holds."""
    graph = several.graph
    steps = {graph.step(i) for i in range(len(graph)) if graph.on_trainer(i) and graph.end[i] > several.start}
    return max(1, len({step for step in steps if step <= several.step}))
