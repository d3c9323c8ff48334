"""Waits of a step with honest names: what was waited for, on which lane, for which sample.

The wait for a batch is *filling* until the batch could have been full, and *straggler* after that.
It could have been full when as many answers as it needs were there, of this batch or the next one,
or 95 % of its own (of at least 20), whichever came first. Within it, time in which the awaited
answer was with the grader, with a tool, behind a weight update or in a queue has that name; time
after the last answer was there is *handover*.
"""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph
from .path import QUEUED, UNKNOWN, Part, walk
from .window import Window

FULL_SHARE = 0.95
ENOUGH = 20  # answers of which 5 % is at least one
REASONS = {"grader": "grader", "tool": "environment", "sync": "sync", "eval": "evaluation", "checkpoint": "checkpoint"}


@dataclass(slots=True)
class Wait:
    """A lane waited, for a reason, for another lane and its sample."""

    lane: str
    reason: str
    on: str | None
    sample: str | None
    start: int
    ns: int

    @property
    def seconds(self) -> float:
        return self.ns / 1e9

    @property
    def says(self) -> str:
        on, sample = self.on, f", sample {self.sample}" if self.sample else ""
        match self.reason:
            case "straggler":
                what = f"for {on}{sample}, when the rest of its batch was there"
            case "filling":
                what = f"for its batch to fill; {on}{sample} came last" if on else "for its batch to fill"
            case "sync":
                what = "for new weights" + (f" on {on}" if on and on != self.lane else "")
            case "prompts":
                what = "for new prompts"
            case "queue":
                what = f"for a place on {on}{sample}" if on and on != self.lane else "in a queue"
            case "handover":
                what = "after the answer it waited for was there"
            case "unknown":
                what = "for something that no span names"
            case reason:
                what = f"for the {reason} on {on}{sample}" if on else f"for the {reason}"
        return f"{self.lane} waited {_seconds(self.seconds)} {what}."


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 or not seconds else f"{1000 * seconds:.3g} ms"


def trainer_waits(window: Window) -> list[Wait]:
    """Every wait of the trainer within a window, each cut by what it was for."""
    graph, waits = window.graph, []
    for i in range(len(graph)):
        if graph.wait[i] and graph.on_trainer(i) and graph.end[i] > window.start and graph.start[i] < window.end:
            lo, hi = max(graph.start[i], window.start), min(graph.end[i], window.end)
            waits += _named(graph, i, lo, walk(graph, i, lo, hi))
    return waits


def _named(graph: Graph, i: int, lo: int, parts: list[Part]) -> list[Wait]:
    full = could_be_full(graph, i)
    found: list[Wait] = []
    for part in parts:
        cut = min(max(part.start, full), part.end) if full is not None else part.end
        for start, end, is_late in ((part.start, cut, False), (cut, part.end, True)):
            if end > start:
                found.append(_wait(graph, i, part, start, end, is_late))
    return _joined(found)


def _wait(graph: Graph, i: int, part: Part, start: int, end: int, is_late: bool) -> Wait:
    """What a stretch of a wait was for. A part on the waiting lane itself names nothing else."""
    own = part.segment == i or graph.track[part.segment] == graph.track[i]
    phase = graph.phase(part.segment)
    if own and part.phase == graph.name(i):
        reason = "handover" if graph.batch(i) or part.start > graph.start[i] else "unknown"
    elif part.phase == UNKNOWN:
        reason = "unknown"
    elif part.phase == QUEUED:
        reason = "queue"
    else:
        reason = REASONS.get(phase) or ("straggler" if is_late else "filling")
    where = None if own else part.lane
    return Wait(graph.lane(i), reason, where, None if own else part.sample, start, end - start)


def could_be_full(graph: Graph, wait: int) -> int | None:
    """When the batch after a wait could have been full; None where nothing says what is in it."""
    arrivals = _arrivals(graph, wait)
    if not arrivals:
        return None
    following = graph.after(wait)
    while following is not None and not graph.wait[following]:
        following = graph.after(following)
    later = [] if following is None else _arrivals(graph, following)
    as_many = sorted([*arrivals, *later])[len(arrivals) - 1]
    if len(arrivals) < ENOUGH:
        return as_many
    return min(as_many, arrivals[int(FULL_SHARE * len(arrivals)) - 1])


def _arrivals(graph: Graph, wait: int) -> list[int]:
    """When each answer of a batch was there: each sample, where slots tell them apart."""
    return sorted(when for member in graph.batch(wait) for when in graph.answers(member))


def _joined(waits: list[Wait]) -> list[Wait]:
    joined: dict[tuple[str, str, str | None, str | None], Wait] = {}
    for wait in waits:
        key = (wait.lane, wait.reason, wait.on, wait.sample)
        if key in joined:
            joined[key].ns += wait.ns
        else:
            joined[key] = wait
    return list(joined.values())
