"""Series for a screen in one request: names and runs, bucketed on one grid, as packed columns.

If the browser gives up on a request, reading stops at the next run or batch of names.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from rollscope.server.deps import Lib
from rollscope.server.library import Library
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.store.naming import Found
from rollscope.store.table_reader import Columns
from rollscope.views.charts.clock import Clock
from rollscope.views.charts.grid import Grid, Range, buckets, grid_over, held_names, non_finite, range_of_run

router = APIRouter(tags=["series"])
GONE = 499  # status of a reply that no one reads
READERS = ThreadPoolExecutor(4, "rollscope-series")  # runs read at once
COLUMNS = (("min", "float32"), ("max", "float32"), ("mean", "float32"), ("last", "float64"), ("count", "uint32"))
STEPS = ("step", "float64")  # of a bucket's last point; on another axis it tells which gaps are real
Edge = Annotated[float, Field(ge=-(2**53), le=2**53)]
Stopped = Callable[[], bool]


class Ask(BaseModel):
    """Names, runs, range of steps, clock and resolution."""

    model_config = ConfigDict(extra="forbid")
    runs: list[str] = Field(max_length=64)
    names: list[str] = Field(max_length=600)
    x: Clock = "step"
    lo: float | None = Field(None, ge=-(2**53), le=2**53, description="first step; default: the first recorded")
    hi: float | None = Field(None, ge=-(2**53), le=2**53, description="last step; default: the last recorded")
    env: str = Field("", max_length=1000, description="an environment: its values, where a name has some")
    start: int = Field(0, alias="from", ge=0, le=2**53, description="leave out steps before this one")
    points: int = Field(400, ge=2, le=4000, description="most buckets")
    grid: tuple[Edge, Edge] | None = Field(
        None,
        description="lo and hi of an earlier answer that these series are drawn beside: "
        "the new grid covers it, and is equal to it if the series lie within",
    )


class RunSeries(NamedTuple):
    """A run's series and their statistics as matrices of series by buckets."""

    run: str
    found: list[Found]
    columns: Columns


@router.post(
    "/series",
    response_class=Response,
    responses={
        200: {
            "content": {MEDIA_TYPE: {}},
            "description": "packed columns x, min, max, mean, last, count; on another axis also step",
        }
    },
)
async def series(request: Request, library: Lib, ask: Annotated[Ask, Body()]) -> Response:
    gone = threading.Event()
    watching = asyncio.create_task(_wait_for_disconnect(request, gone))
    try:
        return await run_in_threadpool(answer, library, ask, gone.is_set)
    finally:
        watching.cancel()


async def _wait_for_disconnect(request: Request, gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def answer(library: Library, ask: Ask, gone: Stopped) -> Response:
    """The packed series, or an empty reply as soon as the browser is gone."""
    ranges = [_range(library, id, ask) for id in ask.runs]
    beside = None if ask.grid is None else (min(ask.grid), max(ask.grid))
    grid = grid_over([pair for pair in (*ranges, beside) if pair is not None], ask.x, ask.points)
    read = map if len(ask.runs) == 1 else READERS.map
    parts = [part for part in read(lambda id: _read(library, id, ask, grid, gone), ask.runs) if part is not None]
    return Response(status_code=GONE) if gone() else _packed(ask, parts, grid)


def _range(library: Library, id: str, ask: Ask) -> Range | None:
    with library.reading(id) as run:
        return range_of_run(run, ask.x, ask.lo, ask.hi, ask.start)


def _read(library: Library, id: str, ask: Ask, grid: Grid, gone: Stopped) -> RunSeries | None:
    if gone():
        return None
    with library.reading(id) as run:
        found = held_names(run, ask.names, beside=len(ask.runs) > 1 or ask.grid is not None)
        columns = buckets(run, [one.asked for one in found], ask.x, grid, ask.start, gone, ask.env)
        return None if columns is None else RunSeries(id, found, columns)


def _packed(ask: Ask, parts: list[RunSeries], grid: Grid) -> Response:
    edge = 0.5 if ask.x == "step" else 0.0
    head = {
        "x": ask.x,
        "lo": grid.lo + edge,
        "hi": grid.hi - edge,
        "width": grid.width,
        "n": grid.count,
        "series": [head for part in parts for head in _heads(part)],
    }
    columns = COLUMNS if ask.x == "step" else (*COLUMNS, STEPS)
    return reply(head, {"x": grid.centres, **{name: _stacked(parts, name, dtype) for name, dtype in columns}})


def _heads(part: RunSeries) -> list[dict[str, Any]]:
    """What each series is: the name asked for, the series read, its unit, and how it was read."""
    return [
        {
            "run": part.run,
            "name": one.asked,
            "stored": one.stored,
            "unit": one.unit,
            "warning": one.warning,
            "why": one.why,
            **non_finite(part.columns, i),
        }
        for i, one in enumerate(part.found)
    ]


def _stacked(parts: list[RunSeries], name: str, dtype: str) -> Any:
    """One statistic of all series, one after the other."""
    if not parts:
        return np.empty(0, dtype)
    return np.concatenate([part.columns[name] for part in parts]).astype(dtype)
