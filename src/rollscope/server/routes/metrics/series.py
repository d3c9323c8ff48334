"""Series for a screen in one request: names and runs, bucketed on one grid, as packed columns.

If the browser gives up on a request, reading stops at the next run or batch of names. What was read
is kept for a while, because pages ask for the same screen again.
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
from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.views.charts.clock import Clock
from rollscope.views.charts.grid import Grid, Range, buckets, grid_over, held_names, non_finite, range_of_run
from rollscope.views.charts.recent import Recent

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
    """A run's series: a head for each, and statistics as they are sent, series by buckets."""

    heads: list[dict[str, Any]]
    columns: Columns

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values())


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
    """The series of one run; those of a run without new rows are the ones that were sent before."""
    if gone():
        return None
    beside = len(ask.runs) > 1 or ask.grid is not None
    with library.reading(id) as run:
        reader = run.companion("reader of series", object)  # two readers never count the same version
        state = (reader, run.version)
        key = (tuple(ask.names), beside, ask.x, grid, ask.start, ask.env)
        owner = (library.path, library.allowed, id)
        return RECENT.get(owner, state, key, lambda: _series(run, id, ask, grid, beside, gone))


def _series(run: Run, id: str, ask: Ask, grid: Grid, beside: bool, gone: Stopped) -> RunSeries | None:
    found = held_names(run, ask.names, beside)
    columns = buckets(run, [one.asked for one in found], ask.x, grid, ask.start, gone, ask.env)
    if columns is None:
        return None
    heads = [_head(id, one, non_finite(columns, i)) for i, one in enumerate(found)]
    return RunSeries(heads, {name: columns[name].astype(dtype) for name, dtype in _columns(ask)})


def _columns(ask: Ask) -> tuple[tuple[str, str], ...]:
    return COLUMNS if ask.x == "step" else (*COLUMNS, STEPS)


def _packed(ask: Ask, parts: list[RunSeries], grid: Grid) -> Response:
    edge = 0.5 if ask.x == "step" else 0.0
    head = {
        "x": ask.x,
        "lo": grid.lo + edge,
        "hi": grid.hi - edge,
        "width": grid.width,
        "n": grid.count,
        "series": [head for part in parts for head in part.heads],
    }
    return reply(head, {"x": grid.centres, **{name: _stacked(parts, name, dtype) for name, dtype in _columns(ask)}})


def _head(run: str, found: Found, non_finite: dict[str, list[list[int]]]) -> dict[str, Any]:
    """What a series is: the name asked for, the series read, its unit, and how it was read."""
    return {
        "run": run,
        "name": found.asked,
        "stored": found.stored,
        "unit": found.unit,
        "warning": found.warning,
        "why": found.why,
        **non_finite,
    }


def _stacked(parts: list[RunSeries], name: str, dtype: str) -> Any:
    """One statistic of all series, one after the other."""
    return np.concatenate([np.empty(0, dtype), *(part.columns[name].reshape(-1) for part in parts)])


# Of a run without new rows, what was sent last; a screen of 20 runs takes 2 MB.
RECENT: Recent[RunSeries | None] = Recent(lambda series: series.nbytes if series else 0, 32 << 20)
