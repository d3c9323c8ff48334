"""Who hears of a segment's start and end when a plan is played, in each way it can be played.

Played with another number of engines, a request does not wait for what was before it on its track:
its engine is chosen when it is queued. Played with more work ahead, it is queued when the trainer
was at the same place some steps before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .plan import Cause, Node, Plan

Told = tuple[int, int]  # a segment that hears of it, and nanoseconds after that
Way = tuple[bool, int]  # are engines chosen anew, and steps of work ahead


@dataclass(slots=True)
class Links:
    missing: dict[int, int] = field(default_factory=dict)  # segment -> causes that have not happened
    after: tuple[dict[int, list[Told]], dict[int, list[Told]]] = field(default_factory=lambda: ({}, {}))
    free: list[tuple[int, int]] = field(default_factory=list)  # segments without a cause, and when they may begin


def links(plan: Plan, chooses: bool, ahead: int) -> Links:
    """The links of a plan, made once for each way to play it."""
    way = (chooses, ahead)
    if way not in plan.links:
        plan.links[way] = _made(plan, way)
    return plan.links[way]


def _made(plan: Plan, way: Way) -> Links:
    made, graph = Links(), plan.window.graph
    for i in plan.order:
        node = plan.nodes[i]
        causes = list(_causes(plan, i, node, way))
        made.missing[i] = len(causes)
        for other, edge, after in causes:
            made.after[edge].setdefault(other, []).append((i, after))
        if not causes:
            early = way[1] and plan.jobs.get(i) == i
            made.free.append((i, plan.window.start if early else graph.start[i] - node.lag))
    return made


def _causes(plan: Plan, i: int, node: Node, way: Way) -> Iterator[Cause]:
    chooses, ahead = way
    if plan.jobs.get(i) != i:
        yield from node.all_causes()
        return
    for cause in node.causes if chooses else node.all_causes():
        if (earlier := _earlier(plan, cause, ahead) if ahead else cause) is not None:
            yield earlier


def _earlier(plan: Plan, cause: Cause, ahead: int) -> Cause | None:
    """The same place on the trainer's lane some steps before; None if that is out of view."""
    i, edge, after = cause
    graph = plan.window.graph
    if not graph.on_trainer(i):
        return cause
    step, name = int(graph.rows.step[graph.span[i]]) - ahead, graph.name(i)
    same = (j for j in graph.trainer_track if graph.rows.step[graph.span[j]] == step and graph.name(j) == name)
    found = next((j for j in same if j in plan.nodes), None)
    return None if found is None else (found, edge, after)
