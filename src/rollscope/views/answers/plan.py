"""Recorded steps as a plan that can be played again: what each segment waits for, and for how long.

A segment begins some delay after the last of its causes; the delay is what no span explains. A
batch's answers are counted: a wait needs as many as it and the waits before it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rollscope.views.timeline.graph import Graph
from rollscope.views.timeline.window import Window

if TYPE_CHECKING:
    from .links import Links

START, END = 0, 1
Cause = tuple[int, int, int]  # a segment, its START or END, and nanoseconds after that


@dataclass(slots=True)
class Node:
    """A segment: what must have happened, how long after that it begins, how long it takes."""

    work: int
    causes: list[Cause] = field(default_factory=list)
    before: Cause | None = None  # the end of the segment before it on its track
    lag: int = 0  # from the last cause to its start
    answers: list[int] = field(default_factory=list)  # tracks that wait for it as a part of their batch
    needs: int | None = None  # a wait: answers for its track that must be there, from the beginning on
    awaits: list[int] = field(default_factory=list)  # a wait: the segment that must have ended, if no count is needed
    delay: int = 0  # a wait: from what ended it to its end

    def all_causes(self) -> list[Cause]:
        return self.causes if self.before is None else [*self.causes, self.before]


@dataclass(slots=True)
class Plan:
    window: Window
    nodes: dict[int, Node]
    order: list[int]  # by recorded start
    jobs: dict[int, int]  # segment on an engine -> first segment of its request
    last_of_job: dict[int, int]  # first segment of a request -> its last
    on_trainer: dict[tuple[int, str], int]  # step and name -> the first such segment of the trainer
    links: dict[tuple[bool, int], Links] = field(default_factory=dict)  # by the way it is played
    served: int | None = None  # when it ends with engines chosen again, as many as recorded


def plan(window: Window) -> Plan:
    """What each segment of a window waited for."""
    graph = window.graph
    in_view = (i for i in range(len(graph)) if graph.end[i] >= window.start and graph.start[i] < window.end)
    order = sorted(in_view, key=lambda i: (graph.start[i], graph.end[i], i))
    place = {i: position for position, i in enumerate(order)}
    nodes = {i: _node(graph, i, place) for i in order}
    _add_waits(graph, nodes, place)
    jobs = _jobs(graph, order)
    last = {jobs[i]: i for i in order if i in jobs}
    return Plan(window, nodes, order, jobs, last, _on_trainer(graph, nodes))


def _node(graph: Graph, i: int, place: dict[int, int]) -> Node:
    own = place[i]
    points = [point for point in graph.causes(i) if place.get(point[1], own) < own]
    node = Node(graph.end[i] - graph.start[i], [_cause(graph, when, other) for when, other in points])
    latest = max((when for when, _ in points), default=None)
    if graph.before(i) is not None and place.get(i - 1, own) < own:
        node.before = (i - 1, END, 0)
        latest = graph.end[i - 1] if latest is None else max(latest, graph.end[i - 1])
    node.lag = 0 if latest is None else graph.start[i] - latest
    return node


def _cause(graph: Graph, when: int, other: int) -> Cause:
    if when >= graph.end[other]:
        return other, END, when - graph.end[other]
    return other, START, max(0, when - graph.start[other])


def _add_waits(graph: Graph, nodes: dict[int, Node], place: dict[int, int]) -> None:
    """Make waits elastic: they last as long as what they wait for."""
    needed: dict[int, int] = defaultdict(int)  # track -> answers of the batches it has joined
    for i in sorted((i for i in nodes if graph.wait[i]), key=lambda i: (graph.end[i], i)):
        members = [
            m for m in graph.batch(i) if m in place and graph.track[m] != graph.track[i] and _precedes(graph, m, i)
        ]
        joins = bool(members) and graph.joins(i)
        if joins or any(graph.end[m] > graph.start[i] for m in members):  # others wait for the next of them
            nodes[i].needs = needed[graph.track[i]] + len(members)
            nodes[i].awaits = [max(members, key=lambda m: graph.end[m])]
        elif (other := graph.awaited(i, graph.start[i], graph.end[i])) is not None and other[1] in place:
            nodes[i].awaits = [other[1]]
        if joins:
            needed[graph.track[i]] += len(members)
            for member in members:
                nodes[member].answers.append(graph.track[i])
    _add_delays(graph, nodes)


def _add_delays(graph: Graph, nodes: dict[int, Node]) -> None:
    """What is left of each wait after what it waited for was there."""
    answers: dict[int, list[int]] = defaultdict(list)  # track -> when each answer for it was there
    for i in sorted(nodes, key=lambda i: graph.end[i]):
        for track in nodes[i].answers:
            answers[track].append(graph.end[i])
    for i, node in nodes.items():
        if node.needs is not None and node.needs > len(answers[graph.track[i]]):
            node.needs = None  # no later wait joins this batch: it is this wait's own
        if node.awaits:
            node.work = 0
            ready = graph.end[node.awaits[0]] if node.needs is None else answers[graph.track[i]][node.needs - 1]
            node.delay = graph.end[i] - max(graph.start[i], ready)


def _precedes(graph: Graph, member: int, wait: int) -> bool:
    """Can an answer have ended a wait? One that came after it, by clocks a little apart, cannot."""
    return not graph.wait[member] and graph.end[member] <= graph.end[wait]


def _on_trainer(graph: Graph, nodes: dict[int, Node]) -> dict[tuple[int, str], int]:
    in_view = [i for i in graph.trainer_track if i in nodes]
    return {(graph.step(i), graph.name(i)): i for i in reversed(in_view)}


def _jobs(graph: Graph, order: Sequence[int]) -> dict[int, int]:
    """Segments of engines by request: a queued one, and what follows it on its track."""
    jobs: dict[int, int] = {}
    for i in sorted(order):
        if graph.on_trainer(i) or graph.phase(i) == "sync":
            continue
        begins = graph.queued(i) >= 0 and graph.firsts[graph.span[i]] == i
        before = graph.before(i)
        jobs[i] = jobs[before[1]] if before is not None and before[1] in jobs and not begins else i
    return jobs
