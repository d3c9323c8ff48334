"""One point of a chart: its exact value and weight, each rank's value, and the point before."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope import strict_json
from rollscope.errors import NotFound
from rollscope.store.naming import Found
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.strict_json import Number
from rollscope.views import nullable
from rollscope.views.dictionary import Meaning, dialect_of, meaning

MOST_RANKS = 64


class RankValue(TypedDict):
    """The value that one rank logged."""

    rank: int
    value: Number
    weight: Number


class PointShape(TypedDict):
    """One value of one metric at one step, its weight and its neighbour."""

    name: str
    step: int
    value: Number
    weight: Number
    counted: str
    kind: str
    unit: str
    low: Number
    high: Number
    before_step: int | None
    before: Number
    change: Number
    time_ns: float
    ranks: list[RankValue]
    stored: str
    warning: str
    why: str


def point(run: Run, name: str, step: int) -> PointShape:
    """The point nearest to a step, in the unit of the name."""
    found = run.find(name)
    columns = run.series_of(found)
    if not len(columns["step"]):
        raise NotFound(f"{name!r} has no points in this run")
    at = int(np.argmin(np.abs(columns["step"] - step)))
    m = meaning(found.stored, dialect_of(run))
    return {
        "name": name,
        "step": int(columns["step"][at]),
        "value": strict_json.number(columns["value"][at]),
        "weight": nullable.number(columns["weight"][at]),
        "counted": _counted(m),
        "kind": _kind(run, found.stored),
        "unit": found.unit,
        "low": strict_json.number(columns["min"][at]),
        "high": strict_json.number(columns["max"][at]),
        **_change(columns, at),  # type: ignore[typeddict-item]
        "time_ns": float(columns["time_ns"][at]),
        "ranks": _ranks(run, found, int(columns["step"][at])),
        "stored": found.stored,
        "warning": found.warning,
        "why": found.why,
    }


def _change(columns: Columns, at: int) -> dict[str, Any]:
    """The point before, and the change since."""
    if at == 0:
        return {"before_step": None, "before": None, "change": None}
    value, before = float(columns["value"][at]), float(columns["value"][at - 1])
    return {
        "before_step": int(columns["step"][at - 1]),
        "before": strict_json.number(before),
        "change": strict_json.number(value - before),
    }


def _kind(run: Run, name: str) -> str:
    metrics = run.metrics()
    return str(metrics["kind"][list(metrics["name"]).index(name)])


def _ranks(run: Run, found: Found, step: int) -> list[RankValue]:
    """Each rank's own value, if several logged at this step."""
    name = found.stored
    ranks = run.ranks_at(name, step)[:MOST_RANKS] if run.is_stored(name) else []
    if len(ranks) < 2:
        return []
    series = [(rank, run.series_of(found, steps=(step, step), rank=rank)) for rank in ranks]
    return [
        {
            "rank": int(rank),
            "value": strict_json.number(columns["value"][0]),
            "weight": nullable.number(columns["weight"][0]),
        }
        for rank, columns in series
        if len(columns["value"])
    ]


def _counted(m: Meaning) -> str:
    """What the weight counts, by the entry's inputs: tokens, samples, groups or values."""
    if m.entry is None:
        return ""
    if m.entry.name.startswith("group/"):
        return "groups"
    needs = " ".join(m.entry.needs)
    if any(axis in needs for axis in ("_A", "_M", "_V")):
        return "tokens"
    return "samples" if "_S" in needs else "values"
