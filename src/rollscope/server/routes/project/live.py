"""Changes as they happen: server-sent events that name runs and carry no data.

One stream serves all tabs of a browser. Streams end when the server stops, so Ctrl-C does not wait
for tabs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import StreamingResponse

from rollscope.server.watcher import Watcher

router = APIRouter(tags=["live"])
BEAT_SECONDS = 15.0  # proxies close silent streams
Moment = Annotated[
    float,
    Query(
        ge=0,
        le=2**53,
        description="when the page was made, in seconds since the epoch: later changes are sent first",
    ),
]


@router.get(
    "/live",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "events: hello, runs, run, project"}},
)
async def live(
    request: Request, since: Moment | None = None, last_event_id: Annotated[str, Header(max_length=40)] = ""
) -> StreamingResponse:
    """Events: `hello` (web version), `runs` (one came or went), `run` (its step and state),
    `project` (the project log has new entries)."""
    watcher: Watcher = request.app.state.watcher
    with contextlib.suppress(ValueError):
        since = float(last_event_id) if last_event_id else since
    return StreamingResponse(
        _events(watcher, since),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _events(watcher: Watcher, since: float | None) -> AsyncIterator[str]:
    queue = watcher.join()
    try:
        await watcher.looked.wait()
        yield _frame({"kind": "hello", "digest": watcher.digest})
        for missed in [] if since is None else await watcher.run(lambda: watcher.missed(since)):
            yield _frame(missed)
        while not watcher.closed:
            try:
                event = await asyncio.wait_for(queue.get(), BEAT_SECONDS)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if event is None:
                return
            yield _frame(event)
    finally:
        watcher.leave(queue)


def _frame(event: dict[str, Any]) -> str:
    """The event's id is its time; a browser that lost the stream sends it when it comes back."""
    return f"id: {time.time():.3f}\ndata: {json.dumps(event)}\n\n"
