"""The stretch of time that is a step: from the end of the step before to its own end.

A step ends with the last trainer span that belongs to it, as the metric time/step has it. The first
recorded step begins with its first trainer span.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rollscope.errors import NotFound
from rollscope.store.run import Run

from .clocks import Shift, aligned
from .graph import Batches, Graph
from .rows import NONE, Rows, read_rows

AROUND = 4  # steps before and after whose spans may reach into a step
MOST_LANES = 5  # that a sentence names
NO_SPANS = "no spans in this run. `with run.span('generate', lane='inference/0'):` records them"


@dataclass(slots=True)
class Window:
    step: int
    start: int
    end: int
    is_first: bool  # no step before it, so it begins with its first span
    graph: Graph
    last: int  # the segment that ends the step
    shifts: list[Shift]

    @property
    def wall(self) -> int:
        return self.end - self.start


def step_bounds(rows: Rows) -> dict[int, tuple[int, int]]:
    """Start and end of each step that has trainer spans, by number."""
    mine = np.flatnonzero(rows.on_trainer() & (rows.step != NONE))
    if not len(mine):
        return {}
    order = mine[np.argsort(rows.step[mine], kind="stable")]
    steps, firsts = np.unique(rows.step[order], return_index=True)
    ends = np.maximum.reduceat(rows.end[order], firsts).tolist()
    begins = np.minimum.reduceat(rows.start[order], firsts).tolist()
    bounds = {}
    for i, step in enumerate(steps.tolist()):
        follows = i > 0 and steps[i - 1] == step - 1
        bounds[step] = (ends[i - 1] if follows else begins[i], ends[i])
    return bounds


def steps_with_spans(run: Run) -> list[int]:
    steps: list[int] = run.count_by_step("spans").steps.tolist()
    return steps


def usual_step(run: Run) -> int:
    """The last step that is complete."""
    steps = steps_with_spans(run)
    if not steps:
        raise NotFound(NO_SPANS)
    done = run.record().get("step")
    complete = [step for step in steps if done is None or step <= int(done)]
    return (complete or steps)[-1]


def rows_around(run: Run, step: int, before: int = AROUND) -> Rows:
    """Spans of a step and of those around it."""
    return read_rows(run, range(step - before, step + AROUND + 1))


def batches_of(run: Run, rows: Rows, steps: list[int]) -> Batches:
    """Which samples each step trained on; read only where spans name samples and no causes."""
    if not len(rows.samples) or rows.has_causes() or not run.has("samples"):
        return Batches({})
    table = run.samples_of_steps(["id", "step", "trained"], steps)
    columns = (table[name].to_pylist() for name in ("id", "step", "trained"))
    return Batches({id: step for id, step, trained in zip(*columns, strict=True) if trained is not False})


def window(rows: Rows, step: int, batches: Batches, steps: int = 1) -> Window:
    """A step, or the `steps` that end with it, as a graph."""
    rows, shifts = aligned(rows)
    bounds = step_bounds(rows)
    if step not in bounds:
        raise NotFound(f"step {step} has no spans on the trainer's lanes. {_instead(rows, bounds)}")
    first = step
    while first - 1 in bounds and step - first + 1 < steps:
        first -= 1
    start, end = bounds[first][0], bounds[step][1]
    if end < start:
        raise NotFound(f"step {step} ended before step {first - 1} did, by its spans; it has no time of its own")
    earlier, later = bounds.get(first - 1, (start, start))[0], bounds.get(step + 1, (end, end))[1]
    graph = Graph(rows.between(min(earlier, start), max(later, end)), batches)
    return Window(step, start, end, first - 1 not in bounds, graph, _last_segment(graph, step, end), shifts)


def _last_segment(graph: Graph, step: int, end: int) -> int:
    mine = [i for i in range(len(graph)) if graph.on_trainer(i) and graph.end[i] == end]
    own = [i for i in mine if graph.step(i) == step]
    return max(own or mine, key=lambda i: (graph.end[i] > graph.start[i], not graph.wait[i], -graph.track[i]))


def _instead(rows: Rows, bounds: dict[int, tuple[int, int]]) -> str:
    """The steps around that have some; without any, what is recorded, and how to record more."""
    if steps := sorted(bounds):
        return f"Steps that have some: {steps[0]}{f' to {steps[-1]}' if len(steps) > 1 else ''}."
    lanes = [rows.lanes[lane] for lane in sorted({*rows.lane.tolist()} - {NONE})][:MOST_LANES]
    there = f"Its spans are on {', '.join(lanes)}. " if lanes else ""
    return f'{there}A trainer records its own with: with run.span("update", lane="trainer/0", step=step)'
