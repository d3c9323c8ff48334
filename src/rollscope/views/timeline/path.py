"""The critical path: from the end of a step back to its beginning, always along what came last.

At the start of a segment the path goes to whatever let it go last. Time between the two is a wait.
Every moment belongs to one part, so the parts add up to the wall time, to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass

from .graph import SHORT_NS, Graph, Point

QUEUED, UNKNOWN = "queued", "not recorded"


@dataclass(slots=True)
class Part:
    """A stretch of the path: what, where, for which sample, from when to when."""

    phase: str
    lane: str
    sample: str | None
    start: int
    end: int
    segment: int  # of the graph

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


def walk(graph: Graph, last: int, until: int, when: int | None = None) -> list[Part]:
    """The path to the end of a segment (or to a moment in it), from `until` on, in time order."""
    parts: list[Part] = []
    at, i, seen = graph.end[last] if when is None else when, last, {last}
    while at > until:
        if graph.wait[i]:
            point = _ended_wait(graph, i, at)
            if point is None or point[0] <= max(graph.start[i], until):
                at = _take(parts, graph, i, graph.name(i), max(graph.start[i], until), at)
                point = graph.before(i)
        else:
            at = _take(parts, graph, i, graph.name(i), max(min(graph.start[i], at), until), at)
            point = _last_arrival(graph, i, seen)
        while point is not None and point[1] in seen:
            point = graph.before(point[1])
        if point is None or at <= until:
            break
        gap = max(min(point[0], at), until)
        at = _take(parts, graph, i, _gap(graph, i, point), gap, at)
        i = point[1]
        seen.add(i)
    if at > until:
        parts.append(Part(UNKNOWN, graph.lane(i), None, until, at, i))
    parts.reverse()
    return _joined(parts)


def _take(parts: list[Part], graph: Graph, i: int, phase: str, start: int, end: int) -> int:
    """Add a part, if it has a length; return where it begins."""
    if end > start:
        lane, sample = graph.lane(i), graph.sample(i)
        if sample is None and phase not in (QUEUED, UNKNOWN) and (slot := graph.sample_within(i, start, end)):
            lane, sample = slot[0], slot[1] or None
        parts.append(Part(phase, lane, sample, start, end, i))
    return min(start, end)


def _last_arrival(graph: Graph, i: int, seen: set[int]) -> Point | None:
    """What let a segment go last: its track, or a cause on another."""
    latest = max((point for point in graph.causes(i) if point[1] not in seen), default=None)
    before = graph.before(i)
    return before if before is not None and (latest is None or before[0] >= latest[0]) else latest


def _ended_wait(graph: Graph, i: int, at: int) -> Point | None:
    """What ended a wait: the last of its batch, or of whatever else ended in it."""
    members = [m for m in graph.batch(i) if graph.end[m] <= at + SHORT_NS and graph.track[m] != graph.track[i]]
    if members:
        last = max(members, key=lambda m: graph.end[m])
        return min(graph.end[last], at), last
    return graph.awaited(i, graph.start[i], at)


def _gap(graph: Graph, i: int, point: Point) -> str:
    """What to call the time between a segment and what let it go."""
    if graph.wait[i]:
        return graph.name(i)
    queued = graph.queued(i)
    return QUEUED if 0 <= queued <= point[0] or point[0] == queued else UNKNOWN


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbours of one phase, lane and sample as one part."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last and (last.phase, last.lane, last.sample) == (part.phase, part.lane, part.sample):
            last.end = part.end
        else:
            joined.append(part)
    return joined
