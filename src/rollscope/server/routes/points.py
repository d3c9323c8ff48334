"""One point of one chart, whole: its exact value, what it stands on, the step before; and a metric as CSV or as a heatmap."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from starlette.responses import Response

from rollscope.errors import BadInput, NotFound
from rollscope.server.deps import Lib, RunId
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.server.reply import as_json
from rollscope.server.shapes import PointShape, RankValue
from rollscope.store.run import Run
from rollscope.strict_json import number as wire
from rollscope.views.dictionary import meaning
from rollscope.views.metric_info import HEAT_COLUMNS, info

router = APIRouter(tags=["points"])
BINS = 24
RANKS = 64  # of which the values are told
Name = Annotated[str, Query(max_length=400, description="name as logged")]
Step = Annotated[int, Query(ge=-(2**53), le=2**53)]


@router.get("/runs/{run}/point")
@as_json
def point(library: Lib, run: RunId, name: Name, step: Step) -> PointShape:
    """The value nearest to a step, with its weight and the change since the point before."""
    with library.reading(run) as found:
        _known(found, name)
        columns = found.series(name)
        if not len(columns["step"]):
            raise NotFound(f"{name!r} has no points in this run")
        at = int(np.argmin(np.abs(columns["step"] - step)))
        before = at - 1 if at else None
        m = meaning(name, found.facts.get("framework"))
        value, old = float(columns["value"][at]), (float(columns["value"][before]) if before is not None else None)
        weight = float(columns["weight"][at])
        return {
            "name": name,
            "step": int(columns["step"][at]),
            "value": wire(value),
            "weight": _weight(weight),
            "counted": _counted(m),
            "kind": str(found.metrics()["kind"][list(found.metrics()["name"]).index(name)]),
            "unit": m.found.entry.unit if m.found else "",
            "low": wire(columns["min"][at]),
            "high": wire(columns["max"][at]),
            "before_step": int(columns["step"][before]) if before is not None else None,
            "before": wire(old),
            "change": wire(value - old) if old is not None else None,
            "time_ns": float(columns["time_ns"][at]),
            "ranks": _ranks(found, name, int(columns["step"][at])),
        }


def _ranks(run: Run, name: str, step: int) -> list[RankValue]:
    """Each rank's own value, where several logged at this step."""
    if not run.is_stored(name):
        return []
    ranks = run.ranks_at(name, step)[:RANKS]
    if len(ranks) < 2:
        return []
    found = [(rank, run.series(name, steps=(step, step), rank=rank)) for rank in ranks]
    return [
        {"rank": int(rank), "value": wire(c["value"][0]), "weight": _weight(c["weight"][0])}
        for rank, c in found
        if len(c["value"])
    ]


def _weight(value: Any) -> Any:
    return None if np.isnan(value) else wire(value)


def _known(run: Run, name: str) -> None:
    if not run.is_stored(name) and name not in run.derived():
        raise NotFound(f"no metric {name!r} in this run; its names are at names")


def _counted(m: Any) -> str:
    """What the weight counts, in a word, from the entry's inputs: tokens, samples or groups."""
    if m.found is None:
        return ""
    needs = " ".join(m.found.entry.needs)
    if m.found.entry.name.startswith("group/"):
        return "groups"
    return "tokens" if "_A" in needs or "_M" in needs or "_V" in needs else "samples" if "_S" in needs else "values"


@router.get("/runs/{run}/csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def as_csv(library: Lib, run: RunId, name: Annotated[list[str], Query(max_length=40)]) -> Response:
    """Series as text, every merged value: name, step, time_ns, value, weight. NaN and infinities are written as they were logged."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "step", "time_ns", "value", "weight"])
    with library.reading(run) as found:
        for one in name:
            _known(found, one)
            columns = found.series(one)
            for step, time_ns, value, weight in zip(
                *(columns[c].tolist() for c in ("step", "time_ns", "value", "weight")), strict=True
            ):
                writer.writerow(
                    [
                        one,
                        step,
                        time_ns,
                        "no data" if weight == 0 else repr(value),
                        "" if weight != weight else repr(weight),
                    ]
                )
    return Response(
        out.getvalue(),
        media_type="text/csv",
        headers={"content-disposition": 'attachment; filename="series.csv"', "cache-control": "no-store"},
    )


@router.get(
    "/runs/{run}/heat",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns x, edges, share"}},
)
def heat(
    library: Lib,
    run: RunId,
    name: Name,
    lo: Annotated[float | None, Query(ge=-(2**53), le=2**53)] = None,
    hi: Annotated[float | None, Query(ge=-(2**53), le=2**53)] = None,
    points: Annotated[int, Query(ge=2, le=400)] = 80,
) -> Response:
    """How a quantity was distributed over the samples of each step: shares by bin, one column per bucket of steps."""
    with library.reading(run) as found:
        m = meaning(name, found.facts.get("framework"))
        column = HEAT_COLUMNS.get(m.found.entry.name if m.found else "")
        if column is None:
            raise BadInput(
                f"{name!r} is not a quantity of samples; a heatmap can be drawn for {', '.join(HEAT_COLUMNS)}"
            )
        samples = found.samples(columns=["step", "trained", column])
        first, last = found.step_range
        shown = info(name, "", 1, 0.0, 0, str(found.facts.get("framework") or ""), found.declared)["range"]
        scope = m.found.scope if m.found else ""
    step, value = (np.array([np.nan if v is None else float(v) for v in samples[c]]) for c in ("step", column))
    keep = np.isfinite(step) & np.isfinite(value)
    if scope == "trained":
        keep &= np.array([bool(t) for t in samples["trained"]], bool)
    a, b = (first if lo is None else lo), (last if hi is None else hi)
    return _heat(step[keep], value[keep], float(a), float(b), points, shown)


def _heat(step: Any, value: Any, lo: float, hi: float, points: int, shown: list[float | None]) -> Response:
    width = max(1, int(np.ceil((hi - lo + 1) / points)))
    count = max(1, int(np.ceil((hi - lo + 1) / width)))
    inside = (step >= lo) & (step <= hi)
    low = shown[0] if shown[0] is not None else float(value.min()) if len(value) else 0.0
    high = shown[1] if shown[1] is not None else float(value.max()) if len(value) else 1.0
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    cells = np.zeros((count, BINS), np.float32)
    column = ((step[inside] - lo) // width).astype(int)
    row = np.clip(np.searchsorted(edges, value[inside], side="right") - 1, 0, BINS - 1)
    np.add.at(cells, (column, row), 1)
    total = cells.sum(1, keepdims=True)
    share = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
    x = lo + (np.arange(count) + 0.5) * width - 0.5
    return reply({"lo": lo, "hi": hi, "width": width, "bins": BINS}, {"x": x, "edges": edges, "share": share})
