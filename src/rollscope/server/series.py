"""Series for a screen in one request: names x runs, bucketed on one grid, as packed columns.

Buckets of a step axis hold whole steps, so that a bucket's edge never cuts a step in two. Steps, whatever the axis: a range is said in
steps and translated to the clock that is drawn. When the browser gives up on a request, the runs not yet read are not read.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from rollscope.server.deps import Lib
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.store.run import Run

router = APIRouter(tags=["series"])
Clock = Literal["step", "time", "relative", "tokens", "samples"]
TOGETHER = 4  # runs read at once; between such batches the browser may have given up
COLUMNS = (("min", "float32"), ("max", "float32"), ("mean", "float32"), ("last", "float64"), ("count", "uint32"))


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


@router.post("/series", response_class=Response, responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns x, min, max, mean, last, count"}})
async def series(request: Request, library: Lib, ask: Annotated[Ask, Body()]) -> Response:
    bounds = await run_in_threadpool(lambda: [_bounds(library, id, ask) for id in ask.runs])
    lo, hi, count = grid([b for b in bounds if b is not None], ask)
    parts: list[tuple[str, list[str], Any]] = []
    for first in range(0, len(ask.runs), TOGETHER):
        if await request.is_disconnected():
            return Response(status_code=499)
        some = ask.runs[first : first + TOGETHER]
        parts += await asyncio.gather(*(run_in_threadpool(_read, library, id, ask, lo, hi, count) for id in some))
    return await run_in_threadpool(_packed, ask, parts, lo, hi, count)


def _bounds(library: Lib, id: str, ask: Ask) -> tuple[float, float] | None:
    """First and last x of a run, within the steps asked for."""
    with library.reading(id) as run:
        first, last = step_range(run)
        lo = max(float(first) if ask.lo is None else ask.lo, float(ask.start))
        hi = float(last) if ask.hi is None else ask.hi
        if hi < lo:
            return None
        return (lo, hi) if ask.x == "step" else translate(run, ask.x, lo, hi)


def step_range(run: Run) -> tuple[int, int]:
    """First and last step any metric was logged at."""
    steps = run.steps()["step"]
    last = run.record().get("step")
    return (int(steps[0]) if len(steps) else 0), max(int(steps[-1]) if len(steps) else 0, int(last or 0))


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


def _read(library: Lib, id: str, ask: Ask, lo: float, hi: float, count: int) -> tuple[str, list[str], Any]:
    with library.reading(id) as run:
        known = run.folder.places()
        derived = run.derived() if any(name not in known for name in ask.names) else {}  # made of samples and spans: only where it is asked for
        names = sorted({name for name in ask.names if name in known or name in derived})
        if not names or (ask.x not in ("step", "time", "relative") and not np.isfinite(clock_of(run, ask.x)).any()):
            return id, [], None
        scale = 1e9 if ask.x == "time" else 1.0  # the store's clock is in nanoseconds
        found = run.buckets(names, lo * scale, hi * scale, count, ask.x)
        if ask.start:
            early = found["step"] < ask.start
            for name in ("min", "max", "mean", "last"):
                found[name] = np.where(early, np.nan, found[name])
            for name in ("count", "nan", "posinf", "neginf"):
                found[name] = np.where(early, 0, found[name])
        return id, names, found


def _packed(ask: Ask, parts: list[tuple[str, list[str], Any]], lo: float, hi: float, count: int) -> Response:
    width = (hi - lo) / count
    x = lo + (np.arange(count) + 0.5) * width
    heads: list[dict[str, Any]] = []
    for id, names, found in parts:
        heads += [
            {"run": id, "name": name, **{short: _marked(found[key][i]) for short, key in (("nan", "nan"), ("up", "posinf"), ("down", "neginf"))}}
            for i, name in enumerate(names)
        ]
    present = [found for _, names, found in parts if names]
    columns = {name: np.concatenate([f[name] for f in present]).astype(type_) if present else np.empty(0, type_) for name, type_ in COLUMNS}
    edge = 0.5 if ask.x == "step" else 0.0
    return reply({"x": ask.x, "lo": lo + edge, "hi": hi - edge, "width": width, "n": count, "series": heads}, {"x": x, **columns})


def _marked(counts: Any) -> list[list[int]]:
    """The buckets in which something non-finite was logged, with how often."""
    at = np.flatnonzero(counts)
    return np.stack([at, counts[at]], 1).tolist() if len(at) else []
