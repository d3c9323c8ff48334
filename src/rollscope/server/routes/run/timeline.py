"""The timeline: lanes and steps, spans at a screen's resolution, a step's answer, one span."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from rollscope.server.deps import Lib, RunId
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.server.reply import as_json
from rollscope.views.answers.answer import answer
from rollscope.views.hosts import hosts
from rollscope.views.timeline.flight import in_flight
from rollscope.views.timeline.picture import lanes_of, picture
from rollscope.views.timeline.span import find, key_of, span_of, sums
from rollscope.views.timeline.strips import strips

router = APIRouter(tags=["timeline"])
Seconds = Annotated[float, Query(ge=-1e9, le=1e10, description="seconds since the first span of the run")]
Step = Annotated[int | None, Query(ge=-(2**53), le=2**53)]


@router.get("/runs/{run}/timeline")
@as_json
def index(library: Lib, run: RunId) -> dict[str, Any]:
    """Tracks of all lanes, names of spans, and when each step began and ended."""
    with library.reading(run) as reader:
        lanes = lanes_of(reader)
        steps = sorted(lanes.bounds)
        return {
            "origin_ns": lanes.origin,
            "seconds": (lanes.end - lanes.origin) / 1e9,
            "spans": len(lanes.rows),
            "tracks": lanes.tracks,
            "names": lanes.rows.names,
            "steps": steps,
            "starts": [(lanes.bounds[step][0] - lanes.origin) / 1e9 for step in steps],
            "ends": [(lanes.bounds[step][1] - lanes.origin) / 1e9 for step in steps],
            "open": in_flight(reader, lanes),
        }


@router.get(
    "/runs/{run}/timeline/spans",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns of spans"}},
)
def spans(
    library: Lib,
    run: RunId,
    lo: Seconds | None = None,
    hi: Seconds | None = None,
    step: Step = None,
    margin: Annotated[float, Query(ge=0, le=10, description="as much more on both sides, in widths")] = 0,
    pixels: Annotated[int, Query(ge=1, le=20_000)] = 1200,
) -> Response:
    """Spans of a stretch of time; those narrower than a pixel are merged where they are many.

    Without `lo` and `hi`, the stretch that the page shows of a step, by default of the last one.
    """
    with library.reading(run) as reader:
        lanes = lanes_of(reader)
        around = lanes.around(step)
        start = around[0] if lo is None else lanes.origin + round(lo * 1e9)
        end = max(start, around[1] if hi is None else lanes.origin + round(hi * 1e9))
        more = round((end - start) * margin)
        return reply(*picture(reader, start - more, end + more, pixels))


@router.get("/runs/{run}/timeline/step")
@as_json
def step(library: Lib, run: RunId, step: Step = None) -> dict[str, Any]:
    """Critical path, shares, waits and levers of a step, by default the last complete one."""
    with library.reading(run) as reader:
        return answer(reader, step).json()


@router.get("/runs/{run}/timeline/span")
@as_json
def span(library: Lib, run: RunId, key: Annotated[str, Query(max_length=200)]) -> dict[str, Any]:
    """One span, what it waited for, and what it delayed."""
    with library.reading(run) as reader:
        return span_of(reader, key)


@router.get("/runs/{run}/timeline/keys")
@as_json
def keys(library: Lib, run: RunId, row: Annotated[int, Query(ge=0, le=2**32)]) -> dict[str, str]:
    """The key of a span by its row in a picture."""
    with library.reading(run) as reader:
        return {"key": key_of(reader, row)}


@router.get("/runs/{run}/timeline/find")
@as_json
def search(library: Lib, run: RunId, text: Annotated[str, Query(min_length=1, max_length=200)]) -> dict[str, Any]:
    """Spans of a sample, of a task, or with a word in their name."""
    with library.reading(run) as reader:
        return {"spans": find(reader, text)}


@router.get("/runs/{run}/timeline/strips")
@as_json
def machines_beside(
    library: Lib, run: RunId, lo: Seconds, hi: Seconds, points: Annotated[int, Query(ge=1, le=600)] = 300
) -> dict[str, Any]:
    """How busy and how full each machine was over a stretch of time, and whose lanes it carries."""
    with library.reading(run) as reader:
        origin = lanes_of(reader).origin
        return {"strips": strips(reader, origin + round(lo * 1e9), origin + round(max(lo, hi) * 1e9), points)}


@router.get("/runs/{run}/timeline/sums")
@as_json
def selected(library: Lib, run: RunId, lo: Seconds, hi: Seconds) -> dict[str, Any]:
    """Seconds by name and by unit within a stretch of time."""
    with library.reading(run) as reader:
        origin = lanes_of(reader).origin
        return sums(reader, origin + round(lo * 1e9), origin + round(max(lo, hi) * 1e9))


@router.get("/runs/{run}/hosts")
@as_json
def machines(library: Lib, run: RunId) -> dict[str, Any]:
    """Every host with its quantities over time, the worst first."""
    with library.reading(run) as reader:
        found: dict[str, Any] = reader.remember("hosts", lambda: hosts(reader))
        return found
