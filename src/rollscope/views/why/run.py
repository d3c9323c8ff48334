"""Why a metric of a recorded run moved between two of its steps, from the samples of both."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.errors import BadInput
from rollscope.store import arrow
from rollscope.store.tables import tables
from rollscope.views.dictionary import meaning
from rollscope.views.samples import rollouts

from .quantity import Floats, Quantity, quantity
from .why import Why, close, why

LABELS = ("id", "group", "task", "env", "stop_reason", "completion_tokens", "tags")
FATE = ("split", "trained", "discard_reason")


def why_of(run: Any, metric: str, step: int, against: int | None = None, scope: str | None = None) -> Why:
    """What each group, and each kind of sample, adds to the change of `metric` from step `against` (the one before that has samples) to `step`.

    Over the samples of `scope`; without one, those that the metric is over.
    """
    what = quantity(metric, run.facts.get("framework") or None)
    known = rollouts.steps(run)
    _check(run, known, step)
    if against is None:
        earlier = known[known < step]
        if not len(earlier):
            raise BadInput(
                f"step {step} is the first step of run {run.id} with samples, so there is none before it to compare with. Say which: against=N"
            )
        against = int(earlier[-1])
    _check(run, known, against)
    rows, recorded = [_rows(run, what, s) for s in (step, against)], _recorded(run, metric, (step, against))
    scope = (what.scope or _population(what, rows, recorded)) if scope is None else scope
    (now, value), (before, value_before) = (_columns(found, what, scope) for found in rows)
    return replace(why(what.metric, step, against, now, before, value, value_before), scope=scope, recorded=recorded)


def _check(run: Any, known: NDArray[np.int64], step: int) -> None:
    if not len(known):
        raise BadInput(
            f"run {run.id} has no samples, so nothing can be said about what moved. Record them: run.log_samples(step=..., samples=[...])"
        )
    if step not in known:
        at = int(np.clip(np.searchsorted(known, step), 0, len(known) - 1))
        near = sorted({int(known[max(0, at - 1)]), int(known[at])})
        raise BadInput(
            f"no samples were recorded at step {step} of run {run.id}. The nearest with some: {' and '.join(map(str, near))}."
        )


def _recorded(run: Any, metric: str, steps: tuple[int, int]) -> tuple[float, float]:
    """What was logged under this name (in any dialect) at these steps, in our unit; NaN where nothing was. A series made of the samples is no witness."""
    framework = run.facts.get("framework") or None
    name = run.naming.find(metric, run.stored_names(), framework)
    if not run.is_stored(name):
        return math.nan, math.nan
    found, scale = run.series(name, steps=list(steps)), meaning(name, framework).scale
    logged = dict(zip(found["step"].tolist(), (found["value"] / scale).tolist(), strict=True))
    return logged.get(steps[0], math.nan), logged.get(steps[1], math.nan)


def _population(what: Quantity, rows: list[pa.Table], recorded: tuple[float, float]) -> str:
    """A name that does not say which samples it is over is over those its logger had: the ones that give the logged numbers; all, where none do."""
    for scope in ("", "trained", "generated"):
        known = [(table, said) for table, said in zip(rows, recorded, strict=True) if not math.isnan(said)]
        if all(close(_mean(table, what, scope), said) for table, said in known):
            return scope
    return ""


def _mean(rows: pa.Table, what: Quantity, scope: str) -> float:
    """Of the quantity alone: nothing else of the samples is looked at."""
    few = rows.select([*dict.fromkeys(what.columns), arrow.ESCAPED]).filter(_within(rows, scope))
    values = np.asarray(what.of(arrow.numpy(few, tables.types("samples"))), np.float64)
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _rows(run: Any, what: Quantity, step: int) -> pa.Table:
    return run.samples(step=step, columns=list(dict.fromkeys([*LABELS, *FATE, *what.columns])), as_arrow=True)


def _columns(rows: pa.Table, what: Quantity, scope: str) -> tuple[dict[str, Any], Floats]:
    """The samples that the metric is over, and the quantity of each."""
    rows = rows.filter(_within(rows, scope))
    columns = arrow.numpy(
        rows, {name: kind for name, kind in tables.types("samples").items() if name != "tags"}
    )  # tags stay the text that `why` reads
    columns["group"] = np.array(
        [g or t or i for g, t, i in zip(columns["group"], columns["task"], columns["id"], strict=True)], object
    )
    return columns, np.asarray(what.of(columns), np.float64)


def _within(rows: pa.Table, scope: str) -> pa.ChunkedArray:
    """Not of an evaluation, and of the scope: `generated` is every sample whose fate is settled."""
    thrown = pc.fill_null(pc.not_equal(rows["discard_reason"], ""), False)
    trained = pc.fill_null(rows["trained"], False)
    keep = pc.fill_null(pc.not_equal(rows["split"], "eval"), True)
    if scope == "trained":
        return pc.and_(keep, trained)
    if scope == "discarded":
        return pc.and_(keep, pc.and_not(pc.or_(rows["trained"].is_valid(), thrown), trained))
    return pc.and_(keep, pc.or_(rows["trained"].is_valid(), thrown)) if scope == "generated" else keep
