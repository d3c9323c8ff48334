"""One point of one chart, a metric as CSV, and a metric's distribution as a heatmap."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from rollscope.server.deps import Lib, RunId
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.server.reply import as_json
from rollscope.views.charts.heatmap import heatmap
from rollscope.views.charts.point import PointShape
from rollscope.views.charts.point import point as point_of
from rollscope.views.charts.series_csv import series_csv

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
) -> Response:
    """How a quantity is distributed over samples: shares by bin, one column per bucket of steps."""
    with library.reading(run) as reader:
        return reply(*heatmap(reader, name, lo, hi, points))
