"""One step's time by what it went to, for the Overview.

Both this and `times` read spans with `spans.read_spans`. `times` sums every span of an operation on
the first rank of any lane. Here the parts of the trainer's first lane must add up, so a span inside
another does not count. Spans that are not nested have the same seconds in both. A run without spans
has its parts from logged time metrics.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.views.dictionary import stored_meanings

from .spans import Spans, read_spans

TOTALS = ("time/step", "time/active", "time/total", "time/testing", "time/update_weights")
RECENT = 12  # steps among which a usual one is looked for
MOST_PARTS = 10
Totals = dict[tuple[str, bool], float]  # name, is it waiting -> seconds


class TimePart(TypedDict):
    name: str
    seconds: float
    wait: bool


def time_parts(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    """A step and its seconds by name, largest first; without `step`, a usual recent one."""
    if run.has("spans"):
        done = int(run.record().get("step") or 0)  # later spans belong to an unfinished step
        recent = range(max(0, done - RECENT + 1), done + 1)
        spans = _first_lane(read_spans(run, [*recent, *([] if step is None else [step])]))
        at = step if step is not None and (spans.step == step).any() else _usual_step(spans)
        if at is not None:
            return at, _largest(_outermost(spans.only(spans.step == at)))
    return _from_metrics(run, step)


def _first_lane(spans: Spans) -> Spans:
    """Spans of the trainer's first lane; of the first lane of all if none is called trainer."""
    lanes = range(len(spans.lanes))
    first = min(lanes, key=lambda i: (not spans.lanes[i].startswith("trainer"), spans.lanes[i]), default=-1)
    return spans.only(spans.lane == first)


def _usual_step(spans: Spans) -> int | None:
    """The newest step that has the spans most steps have.

    The last step of a run may hold only the final evaluation.
    """
    names: dict[int, set[int]] = defaultdict(set)
    for step, name in zip(spans.step.tolist(), spans.name.tolist(), strict=True):
        names[step].add(name)
    counts = np.bincount([name for some in names.values() for name in some], minlength=1)
    common = set(np.flatnonzero(2 * counts > len(names)).tolist())
    return max((step for step, some in names.items() if common <= some), default=max(names, default=None))


def _outermost(spans: Spans) -> Totals:
    """Seconds by name of the spans that do not begin inside another."""
    totals: Totals = defaultdict(float)
    free = -1  # end of the last outermost span
    for i in np.lexsort((-spans.end, spans.start)).tolist():
        start, end = int(spans.start[i]), int(spans.end[i])
        if start >= free:
            free = end
            totals[spans.names[spans.name[i]], bool(spans.wait[i])] += (end - start) / 1e9
    return totals


def _from_metrics(run: Run, step: int | None) -> tuple[int | None, list[TimePart]]:
    """Parts from logged `time/...` metrics, at the step or at each metric's last one."""
    totals: Totals = {}
    at = step
    for name, m in stored_meanings(run).items():
        if not name.startswith("time/") or name.count("/") != 1 or name in TOTALS:
            continue
        columns = run.series(m.logged)
        rows = np.flatnonzero(columns["step"] == step) if step is not None else np.arange(len(columns["step"]))[-1:]
        if len(rows) and np.isfinite(columns["value"][rows[-1]]):
            word = name.removeprefix("time/")
            totals[word.replace("_", " "), "wait" in word] = float(columns["value"][rows[-1]]) / m.scale
            at = int(columns["step"][rows[-1]])
    return (at, _largest(totals)) if totals else (None, [])


def _largest(totals: Totals) -> list[TimePart]:
    parts: list[TimePart] = [
        {"name": name, "seconds": seconds, "wait": wait} for (name, wait), seconds in totals.items() if seconds > 0
    ]
    return sorted(parts, key=lambda part: -part["seconds"])[:MOST_PARTS]
