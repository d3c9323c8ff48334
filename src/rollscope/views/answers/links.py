"""Who hears of a segment's start and end when a plan is played, in each way it can be played.

Played with another number of engines, a request does not wait for what was before it on its track:
its engine is chosen when it is queued. Played with more work ahead, it is queued when the trainer
was at the same place some steps before.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .plan import Cause, Node, Plan

Told = tuple[int, int]  # a segment that hears of it, and nanoseconds after that
Heard = dict[int, list[Told]]  # by the segment whose start or end it is
Way = tuple[bool, int]  # are engines chosen again, and steps of work ahead


@dataclass(slots=True)
class Links:
    missing: dict[int, int] = field(default_factory=dict)  # segment -> causes that have not happened
    after: tuple[Heard, Heard] = field(default_factory=lambda: (_nobody(), _nobody()))
    free: list[tuple[int, int]] = field(default_factory=list)  # segments without a cause, and when they may begin


def _nobody() -> Heard:
    return defaultdict(list)


def links(plan: Plan, chooses: bool, ahead: int) -> Links:
    """The links of a plan, made once for each way to play it."""
    way = (chooses, ahead)
    if way not in plan.links:
        plan.links[way] = _made(plan, way)
    return plan.links[way]


def _made(plan: Plan, way: Way) -> Links:
    made, graph, jobs = Links(), plan.window.graph, plan.jobs
    for i in plan.order:
        node = plan.nodes[i]
        is_request = jobs.get(i) == i
        causes = _of_request(plan, node, way) if is_request else node.all_causes()
        made.missing[i] = len(causes)
        for other, edge, after in causes:
            made.after[edge][other].append((i, after))
        if not causes:
            early = way[1] and is_request
            made.free.append((i, plan.window.start if early else graph.start[i] - node.lag))
    return made


def _of_request(plan: Plan, node: Node, way: Way) -> list[Cause]:
    chooses, ahead = way
    causes = node.causes if chooses else node.all_causes()
    if not ahead:
        return causes
    return [earlier for cause in causes if (earlier := _earlier(plan, cause, ahead)) is not None]


def _earlier(plan: Plan, cause: Cause, ahead: int) -> Cause | None:
    """The same place on the trainer's lane some steps before; None if that is out of view."""
    i, edge, after = cause
    graph = plan.window.graph
    if not graph.on_trainer(i):
        return cause
    found = plan.on_trainer.get((graph.step(i) - ahead, graph.name(i)))
    return None if found is None else (found, edge, after)
