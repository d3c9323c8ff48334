"""Series for a screen in one request: names x runs, bucketed on one grid, as packed columns.

Buckets of a step axis hold whole steps, so that a bucket's edge never cuts a step in two. Steps, whatever the axis: a range is said in
steps and translated to the clock that is drawn. When the browser gives up on a request, its reading stops at the next run or screenful of names.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from rollscope.server.deps import Lib
from rollscope.server.library import Library
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.store.run import Run

router = APIRouter(tags=["series"])
Clock = Literal["step", "time", "relative", "tokens", "samples"]
Part = tuple[str, list[str], Any]  # a run, its names, and their statistics as matrices of names by buckets
GONE = 499  # what nobody reads any more
SOME = 60  # names read together; after each such lot the browser may have given up
READERS = ThreadPoolExecutor(4, "rollscope-series")  # runs read at once
COLUMNS = (("min", "float32"), ("max", "float32"), ("mean", "float32"), ("last", "float64"), ("count", "uint32"))


Edge = Annotated[float, Field(ge=-(2**53), le=2**53)]


class Ask(BaseModel):
    """Which series, of which runs, over which steps, at which resolution."""

    model_config = ConfigDict(extra="forbid")
    runs: list[str] = Field(max_length=64)
    names: list[str] = Field(max_length=600)
    x: Clock = "step"
    lo: float | None = Field(None, ge=-(2**53), le=2**53, description="first step; without it, the first recorded")
    hi: float | None = Field(None, ge=-(2**53), le=2**53, description="last step; without it, the last recorded")
    start: int = Field(0, alias="from", ge=0, le=2**53, description="leave out what comes before this step")
    points: int = Field(400, ge=2, le=4000, description="at most so many buckets")
    grid: tuple[Edge, Edge] | None = Field(
        None,
        description="lo and hi of an answer these series are laid beside: kept to where they lie within, else widened",
    )


@router.post(
    "/series",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns x, min, max, mean, last, count"}},
)
async def series(request: Request, library: Lib, ask: Annotated[Ask, Body()]) -> Response:
    gone = threading.Event()
    watching = asyncio.create_task(_until_gone(request, gone))
    try:
        return await run_in_threadpool(answer, library, ask, gone.is_set)
    finally:
        watching.cancel()


async def _until_gone(request: Request, gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def answer(library: Library, ask: Ask, gone: Callable[[], bool]) -> Response:
    """The packed series, or an empty answer as soon as it is known that nobody waits for it."""
    bounds = [_bounds(library, id, ask) for id in ask.runs]
    beside = None if ask.grid is None else (min(ask.grid), max(ask.grid))
    lo, hi, count = grid([b for b in (*bounds, beside) if b is not None], ask)
    read = (map if len(ask.runs) == 1 else READERS.map)(
        lambda id: _read(library, id, ask, lo, hi, count, gone), ask.runs
    )
    parts = list(read)
    return Response(status_code=GONE) if gone() else _packed(ask, parts, lo, hi, count)


def _bounds(library: Library, id: str, ask: Ask) -> tuple[float, float] | None:
    """First and last x of a run, within the steps asked for."""
    with library.reading(id) as run:
        first, last = run.step_range
        lo = max(float(first) if ask.lo is None else ask.lo, float(ask.start))
        hi = float(last) if ask.hi is None else ask.hi
        if hi < lo:
            return None
        return (lo, hi) if ask.x == "step" else translate(run, ask.x, lo, hi)


def translate(run: Run, x: str, lo: float, hi: float) -> tuple[float, float] | None:
    """A range of steps on another clock."""
    clocks = run.steps()
    if not len(clocks["step"]):
        return None
    reading = clock_of(run, x)
    known = np.isfinite(reading)
    if not known.any():
        return None
    a, b = np.interp([lo, hi], clocks["step"][known], reading[known])
    return float(a), float(b)


def clock_of(run: Run, x: str) -> Any:
    """A clock's reading at every step, in the unit the wire uses: seconds for times."""
    clocks = run.steps()
    if x == "time":
        return clocks["time_ns"] / 1e9
    if x == "relative":
        return (clocks["time_ns"] - int(run.facts.get("started_ns") or clocks["time_ns"][0])) / 1e9
    return np.asarray(clocks[x], np.float64)


def grid(bounds: list[tuple[float, float]], ask: Ask) -> tuple[float, float, int]:
    """Outer edges and number of the buckets. On the step axis each holds the same whole number of steps, and a single step where they fit."""
    lo = min((b[0] for b in bounds), default=0.0)
    hi = max((b[1] for b in bounds), default=1.0)
    if ask.x != "step":
        return lo, (hi if hi > lo else lo + 1), ask.points
    lo, hi = np.floor(lo), np.ceil(hi)
    width = max(1, int(np.ceil((hi - lo + 1) / ask.points)))
    count = int(np.ceil((hi - lo + 1) / width))
    return float(lo) - 0.5, float(lo) - 0.5 + width * count, count


def _read(library: Library, id: str, ask: Ask, lo: float, hi: float, count: int, gone: Callable[[], bool]) -> Part:
    if gone():
        return id, [], None
    with library.reading(id) as run:
        stored = {name for name in ask.names if run.is_stored(name)}
        derived = run.derived() if stored < set(ask.names) else {}  # read samples and spans only when needed
        names = sorted(stored | {name for name in ask.names if name in derived})
        if not names or (ask.x not in ("step", "time", "relative") and not np.isfinite(clock_of(run, ask.x)).any()):
            return id, [], None
        scale = 1e9 if ask.x == "time" else 1.0  # the store's clock is in nanoseconds
        lots = [run.buckets(some, lo * scale, hi * scale, count, ask.x) for some in _lots(names) if not gone()]
        if gone():
            return id, [], None
        found = (
            lots[0]
            if len(lots) == 1
            else {key: np.concatenate([lot[key] for lot in lots]) for key in lots[0] if key != "edges"}
        )
        if ask.start:
            early = found["step"] < ask.start
            for name in ("min", "max", "mean", "last"):
                found[name] = np.where(early, np.nan, found[name])
            for name in ("count", "nan", "posinf", "neginf"):
                found[name] = np.where(early, 0, found[name])
        return id, names, found


def _lots(names: list[str]) -> Iterator[list[str]]:
    return (names[at : at + SOME] for at in range(0, len(names), SOME))


def _packed(ask: Ask, parts: list[Part], lo: float, hi: float, count: int) -> Response:
    width = (hi - lo) / count
    x = lo + (np.arange(count) + 0.5) * width
    heads: list[dict[str, Any]] = []
    for id, names, found in parts:
        heads += [
            {
                "run": id,
                "name": name,
                **{
                    short: _marked(found[key][i])
                    for short, key in (("nan", "nan"), ("up", "posinf"), ("down", "neginf"))
                },
            }
            for i, name in enumerate(names)
        ]
    present = [found for _, names, found in parts if names]
    columns = {
        name: np.concatenate([f[name] for f in present]).astype(type_) if present else np.empty(0, type_)
        for name, type_ in COLUMNS
    }
    edge = 0.5 if ask.x == "step" else 0.0
    return reply(
        {"x": ask.x, "lo": lo + edge, "hi": hi - edge, "width": width, "n": count, "series": heads}, {"x": x, **columns}
    )


def _marked(counts: Any) -> list[list[int]]:
    """The buckets in which something non-finite was logged, with how often."""
    at = np.flatnonzero(counts)
    return np.stack([at, counts[at]], 1).tolist() if len(at) else []
