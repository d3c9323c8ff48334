"""Why a metric of a recorded run moved between two steps, or two ranges, from their samples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.errors import AmbiguousMetric, BadInput, UnknownMetric
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views.dictionary import dialect_of, meaning
from rollscope.views.samples import sample_steps
from rollscope.views.samples.groups import group_name

from .quantity import Floats, Quantity, quantity
from .why import Why, close, why

LABELS = ("id", "group", "task", "env", "stop_reason", "completion_tokens", "tags")
FATE = ("split", "trained", "discard_reason")
Steps = NDArray[np.int64]
At = int | tuple[int, int]  # a step, or a range by its first and last step


def why_of(run: Run, metric: str, step: At, against: At | None = None, scope: str | None = None) -> Why:
    """What each group, and each kind of sample, adds to the change of `metric` at `step`.

    `against` is the step to compare with, by default the one before that has samples. Each may be a
    range, a pair of its first and last step; then the parts are prompts, which visit many steps,
    and a number is the mean over all samples of the range. `scope` chooses the samples, by default
    those that the metric covers.
    """
    what = quantity_on(run, metric)
    known = sample_steps.steps(run)
    now_steps = _chosen(run, known, step)
    before_steps = _chosen(run, known, _step_before(run, known, int(now_steps[0])) if against is None else against)
    ranges = len(now_steps) > 1 or len(before_steps) > 1
    rows = [_rows(run, what, steps) for steps in (now_steps, before_steps)]
    recorded = (math.nan, math.nan) if ranges else _recorded(run, metric, (int(now_steps[0]), int(before_steps[0])))
    scope = (what.scope or _population(what, rows, recorded)) if scope is None else scope
    (now, value), (before, value_before) = (_columns(table, what, scope, ranges) for table in rows)
    ends = int(now_steps[-1]), int(before_steps[-1])
    answer = why(what.metric, *ends, now, before, value, value_before)
    firsts = int(now_steps[0]), int(before_steps[0])
    return replace(answer, scope=scope, recorded=recorded, since=firsts[0], against_since=firsts[1])


def _chosen(run: Run, known: Steps, at: At) -> Steps:
    """The steps with samples that a step or a range means; BadInput if there are none."""
    if not isinstance(at, tuple):
        _require(run, known, at)
        return np.array([at], np.int64)
    first, last = at
    if first > last:
        raise BadInput(f"a range goes from its first step to its last, and {first} to {last} does not")
    inside: Steps = known[(known >= first) & (known <= last)]
    if not len(inside):
        _require(run, known, first)
    return inside


def quantity_on(run: Run, metric: str) -> Quantity:
    """The quantity of a metric, its name read as this run reads it."""
    try:
        return quantity(metric, dialect_of(run))
    except (UnknownMetric, AmbiguousMetric):
        return quantity(run.find(metric).stored, dialect_of(run))


def _require(run: Run, known: Steps, step: int) -> None:
    """Raise BadInput if the step has no samples."""
    if not len(known):
        raise BadInput(
            f"run {run.id} has no samples, so nothing can be said about what moved. "
            "Record them: run.log_samples(step=..., samples=[...])"
        )
    if step not in known:
        at = int(np.clip(np.searchsorted(known, step), 0, len(known) - 1))
        near = sorted({int(known[max(0, at - 1)]), int(known[at])})
        raise BadInput(
            f"no samples were recorded at step {step} of run {run.id}. "
            f"The nearest with some: {' and '.join(map(str, near))}."
        )


def _step_before(run: Run, known: Steps, step: int) -> int:
    earlier = known[known < step]
    if not len(earlier):
        raise BadInput(
            f"step {step} is the first step of run {run.id} with samples, so there is none before it "
            "to compare with. Say which: against=N"
        )
    return int(earlier[-1])


def _recorded(run: Run, metric: str, steps: tuple[int, int]) -> tuple[float, float]:
    """The values logged under this name, in any dialect, in our unit; NaN: none was logged.

    A series that is derived from the samples does not count, because it cannot contradict them.
    """
    found = next((one for one in run.find_all(metric) if run.is_stored(one.stored)), None)
    if found is None:
        return math.nan, math.nan
    columns, scale = run.series(found.stored, steps=list(steps)), meaning(found.stored, dialect_of(run)).scale
    logged = dict(zip(columns["step"].tolist(), (columns["value"] / scale).tolist(), strict=True))
    return logged.get(steps[0], math.nan), logged.get(steps[1], math.nan)


def _population(what: Quantity, rows: list[pa.Table], recorded: tuple[float, float]) -> str:
    """The scope whose samples give the logged numbers; all samples if none does.

    A name without a scope covers the samples that its logger had.
    """
    known = [(table, value) for table, value in zip(rows, recorded, strict=True) if not math.isnan(value)]
    for scope in ("", "trained", "generated"):
        if all(close(_mean(table, what, scope), value) for table, value in known):
            return scope
    return ""


def _mean(rows: pa.Table, what: Quantity, scope: str) -> float:
    """The mean of the quantity; only its own columns are converted."""
    own = rows.select([*dict.fromkeys(what.columns), arrow.ESCAPED]).filter(_within(rows, scope))
    values = np.asarray(what.of(arrow.numpy(own, tables.types("samples"))), np.float64)
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else math.nan


def _rows(run: Run, what: Quantity, steps: Steps) -> pa.Table:
    columns = list(dict.fromkeys([*LABELS, *FATE, *what.columns]))
    if len(steps) == 1:
        return run.samples(step=int(steps[0]), columns=columns, as_arrow=True)
    return run.samples_of_steps([*columns, "step"], steps.tolist())


def _columns(rows: pa.Table, what: Quantity, scope: str, by_task: bool) -> tuple[dict[str, Any], Floats]:
    """The samples that the metric covers, and the quantity of each.

    Over a range, the samples of one task are one group: a group is of one step.
    """
    rows = rows.filter(_within(rows, scope))
    types = {name: kind for name, kind in tables.types("samples").items() if name != "tags"}
    columns = arrow.numpy(rows, types)  # tags stay the text that `why` reads
    names = zip(columns["group"], columns["task"], columns["id"], strict=True)
    named = [group_name(task, group, id) if by_task else group_name(group, task, id) for group, task, id in names]
    columns["group"] = np.array(named, object)
    return columns, np.asarray(what.of(columns), np.float64)


def _within(rows: pa.Table, scope: str) -> pa.ChunkedArray:
    """Which samples are of the scope and not of an evaluation.

    `generated` covers every sample that is marked trained or discarded.
    """
    keep = pc.fill_null(pc.not_equal(rows["split"], "eval"), True)
    trained = pc.fill_null(rows["trained"], False)
    has_reason = pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False)
    settled = pc.or_(rows["trained"].is_valid(), has_reason)
    if scope == "trained":
        return pc.and_(keep, trained)
    if scope == "discarded":
        return pc.and_(keep, pc.and_not(settled, trained))
    return pc.and_(keep, settled) if scope == "generated" else keep
