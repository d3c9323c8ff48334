"""One point of a chart, values at a step, a metric as CSV, and a distribution as a heatmap."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rollscope.server.deps import Lib, RunId
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.server.reply import as_json
from rollscope.server.shapes import ValuesShape
from rollscope.strict_json import Number
from rollscope.views.charts.heatmap import heatmap
from rollscope.views.charts.point import PointShape
from rollscope.views.charts.point import point as point_of
from rollscope.views.charts.series_csv import series_csv
from rollscope.views.charts.values import values_at

router = APIRouter(tags=["points"])
Name = Annotated[str, Query(max_length=400, description="name, ours or any framework's")]
Step = Annotated[int, Query(ge=-(2**53), le=2**53)]
Edge = Annotated[float | None, Query(ge=-(2**53), le=2**53)]
CSV_HEADERS = {"content-disposition": 'attachment; filename="series.csv"', "cache-control": "no-store"}


@router.get("/runs/{run}/point")
@as_json
def point(library: Lib, run: RunId, name: Name, step: Step) -> PointShape:
    """The value nearest to a step, with its weight and the change since the point before."""
    with library.reading(run) as reader:
        return point_of(reader, name, step)


class AskValues(BaseModel):
    """Names as logged, runs and a step."""

    model_config = ConfigDict(extra="forbid")
    runs: list[str] = Field(max_length=64)
    names: list[str] = Field(max_length=600)
    step: int = Field(ge=-(2**53), le=2**53)


@router.post("/values")
@as_json
def values(library: Lib, ask: Annotated[AskValues, Body()]) -> ValuesShape:
    """The stored values at exactly one step. A metric that has no point there is left out."""
    found: dict[str, dict[str, Number]] = {}
    for id in ask.runs:
        with library.reading(id) as reader:
            found[id] = values_at(reader, ask.names, ask.step)
    return {"step": ask.step, "runs": found}


@router.get("/runs/{run}/csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def as_csv(library: Lib, run: RunId, name: Annotated[list[str], Query(max_length=40)]) -> Response:
    """Every merged value of some series: name, step, time_ns, value, weight.

    NaN and infinities are written as they were logged.
    """
    with library.reading(run) as reader:
        return Response(series_csv(reader, name), media_type="text/csv", headers=CSV_HEADERS)


@router.get(
    "/runs/{run}/heat",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns x, edges, share"}},
)
def heat(
    library: Lib,
    run: RunId,
    name: Name,
    lo: Edge = None,
    hi: Edge = None,
    points: Annotated[int, Query(ge=2, le=400)] = 80,
    env: Annotated[str, Query(max_length=1000, description="samples of this environment")] = "",
) -> Response:
    """How a quantity is distributed over samples: shares by bin, one column per bucket of steps."""
    with library.reading(run) as reader:
        return reply(*heatmap(reader, name, lo, hi, points, env))
