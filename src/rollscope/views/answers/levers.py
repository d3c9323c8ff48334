"""What a change would save, in seconds per step: recorded steps, played again with the change.

A share of the time says little: what is not on the path saves nothing, however long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.views.timeline.graph import SHORT_NS, Graph
from rollscope.views.timeline.phases import Phase
from rollscope.views.timeline.window import Window

from .plan import Plan, plan
from .simulate import Duration, played

TAIL = 0.95  # share of answers that are kept
ONE_MORE = "one engine more"
LEAST_SHARE = 0.001  # of a step, below which a change does not help
WORDS: dict[Phase, str] = {
    "generate": "generation",
    "grader": "grading",
    "tool": "tools and environment",
    "train": "training",
    "sync": "weight sync",
    "eval": "evaluation",
    "checkpoint": "checkpoints",
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something to try: other durations of segments, more engines, more steps of work ahead."""

    says: str
    duration: Callable[[Graph], Duration] | None = None
    engines: int | None = None
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Lever:
    change: str
    saves: float  # seconds per step
    share: float  # of the wall time of a step

    @property
    def helps(self) -> bool:
        return self.share >= LEAST_SHARE

    @property
    def says(self) -> str:
        if self.helps:
            return f"saves {self.saves:.3g} s a step, {100 * self.share:.0f} %"
        if self.share <= -LEAST_SHARE:
            return f"costs {-self.saves:.3g} s a step, {-100 * self.share:.0f} % more"
        return "does not help: not on the path"

    def json(self) -> dict[str, Any]:
        return {"change": self.change, "saves_s": self.saves, "share": self.share, "says": self.says}


def scaled(factor: float, phases: set[Phase] | None = None, lane: str | None = None) -> Callable[[Graph], Duration]:
    """Work of some phases, on one lane or all, takes `factor` of its time."""

    def of(graph: Graph) -> Duration:
        def duration(i: int) -> int:
            work = graph.end[i] - graph.start[i]
            fits = (phases is None or graph.phase(i) in phases) and (lane is None or graph.lane(i) == lane)
            return round(work * factor) if fits else work

        return duration

    return of


def without_tail(graph: Graph) -> Duration:
    """Generation ends when 95 % of its answers are there, where a lane tells its slots apart."""
    within = _ends_within(graph)
    alone = [graph.end[i] - graph.start[i] for i in range(len(graph)) if _is_one_answer(graph, i, within)]
    most = int(np.quantile(alone, TAIL)) if alone else None

    def duration(i: int) -> int:
        work = graph.end[i] - graph.start[i]
        if i in within:
            return min(work, int(np.quantile(within[i], TAIL)) - graph.start[i])
        return min(work, most) if most is not None and _is_one_answer(graph, i, within) else work

    return duration


def _is_one_answer(graph: Graph, i: int, within: dict[int, list[int]]) -> bool:
    return i not in within and graph.phase(i) == "generate" and not graph.wait[i] and not graph.on_trainer(i)


def _ends_within(graph: Graph) -> dict[int, list[int]]:
    """For each generation of a unit with slots, when each slot was done."""
    detail, ends = graph.detail, {}
    units = np.array(detail.units() or [""])[detail.lane]
    of_unit = {unit: np.flatnonzero(units == unit) for unit in np.unique(units).tolist()}
    for i in range(len(graph)):
        own = of_unit.get(graph.unit(i)) if graph.phase(i) == "generate" and not graph.wait[i] else None
        if own is not None:
            lo, hi = np.searchsorted(detail.start[own], (graph.start[i] - SHORT_NS, graph.end[i]))
            done = detail.end[own[lo:hi]]
            if (inside := done[done <= graph.end[i] + SHORT_NS]).size:
                ends[i] = np.minimum(inside, graph.end[i]).tolist()
    return ends


def changes(graph: Graph, has_requests: bool) -> Iterator[Change]:
    """The changes worth trying on a run, by what it recorded."""
    present = {graph.phase(i) for i in range(len(graph)) if not graph.wait[i]}
    for phase in ("generate", "train", "grader", "tool"):
        if phase in present:
            yield Change(f"{WORDS[phase]} twice as fast", scaled(0.5, {phase}))
    for phase in ("sync", "eval", "checkpoint"):
        if phase in present:
            yield Change(f"{WORDS[phase]} free", scaled(0, {phase}))
    if "generate" in present:
        yield Change("the slowest 5 % of answers cut, or continued in the next step", without_tail)
    if has_requests:
        yield Change(ONE_MORE, engines=1)
        yield Change("one engine fewer", engines=-1)
        yield Change("one more step of work ahead (staleness bound + 1)", ahead=1)


def levers(window: Window, steps: int) -> list[Lever]:
    """Every change worth trying on these steps, the best first."""
    recorded = plan(window)
    queued = [i for i in recorded.jobs.values() if window.graph.queued(i) >= 0]
    found = [lever(recorded, change, steps) for change in changes(window.graph, bool(queued))]
    return sorted(found, key=lambda one: -one.saves)


def best(found: list[Lever], most: int) -> list[Lever]:
    """The first levers of a list, and whether an engine more would help, which everyone asks."""
    shown = found[:most]
    asked = [one for one in found[most:] if one.change == ONE_MORE]
    return [*shown[: most - len(asked)], *asked]


def lever(recorded: Plan, change: Change, steps: int) -> Lever:
    saved = saves(recorded, change) / 1e9
    return Lever(change.says, saved / steps, saved / (recorded.window.wall / 1e9))


def saves(recorded: Plan, change: Change) -> int:
    """Nanoseconds that a change saves over all steps of a plan."""
    graph = recorded.window.graph
    duration = None if change.duration is None else change.duration(graph)
    if change.engines is None:
        return recorded.window.end - played(recorded, duration, ahead=change.ahead)
    if recorded.served is None:
        recorded.served = played(recorded, engines=0)
    before = recorded.served
    saved = before - played(recorded, duration, engines=change.engines, ahead=change.ahead)
    if duration is None and change.engines:  # another order of the same work is no gain or loss of an engine
        return max(0, saved) if change.engines > 0 else min(0, saved)
    return saved
