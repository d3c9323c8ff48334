"""What changed, as it happens: server-sent events that name runs, never data. One stream serves all tabs of a browser.

One task looks at the folders while anybody listens. Streams end when the server is told to, so Ctrl-C does not wait for tabs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from rollscope.errors import RollscopeError
from rollscope.server.library import Library
from rollscope.store.run import Run

router = APIRouter(tags=["live"])
log = logging.getLogger("rollscope.server")
LOOK_SECONDS = 0.1
SHARE = 50  # of the time, one part at most is spent on looking: a store of thousands of runs is looked at less often
BEAT_SECONDS = 15.0  # proxies close streams that say nothing
SLACK = 1.0  # seconds between a change and its being told, and by which the clock of the files may lag behind ours
Moment = Annotated[
    float,
    Query(
        ge=0,
        le=2**53,
        description="when the page was made, in seconds since the epoch: what changed after that is told first",
    ),
]


class Watcher:
    """Looks at the store for all listeners together."""

    def __init__(self, library: Library, digest: str) -> None:
        self.library, self.digest = library, digest
        self.listeners: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[str, tuple[float, int]] = {}
        self._version: dict[str, int] = {}
        self._found: dict[str, float] = {}  # when there was something new to say about a run
        self.looked = asyncio.Event()  # from then on every change is told
        self.closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def join(self) -> asyncio.Queue[dict[str, Any] | None]:
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(256)
        self.listeners.add(queue)
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._seen = {}
            self.looked.clear()
            self._task = asyncio.create_task(self._look())
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any] | None]) -> None:
        self.listeners.discard(queue)

    async def _look(self) -> None:
        first = True
        while self.listeners and not self.closed:
            began = time.monotonic()
            for event in await run_in_threadpool(self._changes, first):
                self._tell(event)
            first = False
            self.looked.set()
            await asyncio.sleep(max(LOOK_SECONDS, SHARE * (time.monotonic() - began)))
        self.looked.set()

    def _tell(self, event: dict[str, Any] | None) -> None:
        for queue in self.listeners:
            with contextlib.suppress(asyncio.QueueFull):  # a tab that does not read is told again by the next change
                queue.put_nowait(event)

    def _changes(self, first: bool) -> list[dict[str, Any]]:
        now = {id: self.library.fingerprint(id) for id in self.library.ids()}
        events: list[dict[str, Any]] = []
        if not first and now.keys() != self._seen.keys():
            events.append({"kind": "runs"})
        changed = [] if first else [id for id, print_ in now.items() if id in self._seen and self._seen[id] != print_]
        self._seen = now
        for id in changed:
            events += self._about(id)
        return events

    def missed(self, since: float) -> list[dict[str, Any]]:
        """What changed after a page was made and before its stream was here: nobody told it, and nothing else would."""
        since -= SLACK
        events: list[dict[str, Any]] = [{"kind": "runs"}] if self.library.listed() > since else []
        for id in self.library.ids():
            if max(self.library.heard(id), self._found.get(id, 0.0)) > since:
                events += self._about(id, grew=True)
        return events

    def _about(self, id: str, grew: bool = False) -> list[dict[str, Any]]:
        """The event of a run, where it can be read: one that is removed or damaged while we look must not end the watch over the others."""
        try:
            with self.library.reading(id) as run:
                run.refresh()
                return [self._event(id, run, ["metrics"] if grew or self._grew(id, run) else [])]
        except (RollscopeError, OSError):
            return []
        except Exception:
            log.exception("cannot tell what changed in %s", id)
            return []

    def _grew(self, id: str, run: Run) -> bool:
        before, self._version[id] = self._version.get(id), run.version
        return run.version != before

    def _event(self, id: str, run: Run, tables: list[str]) -> dict[str, Any]:
        return {
            "kind": "run",
            "run": id,
            "step": run.record().get("step"),
            "state": run.state,
            "heard_ns": self.library.heard(id) * 1e9,
            "tables": tables,
        }

    def found(self, id: str) -> None:
        """The doctor, from its own thread: there is something new to say about a run."""
        self._found[id] = time.time()
        if self._loop and not self._loop.is_closed():
            event = {
                "kind": "run",
                "run": id,
                "step": None,
                "state": "",
                "heard_ns": self.library.heard(id) * 1e9,
                "tables": ["findings"],
            }
            self._loop.call_soon_threadsafe(self._tell, event)

    def close(self) -> None:
        """End every stream now."""
        self.closed = True
        self._tell(None)


def _frame(event: dict[str, Any]) -> str:
    """The moment is the event's id: a browser that lost the stream says it when it comes back."""
    return f"id: {time.time():.3f}\ndata: {json.dumps(event)}\n\n"


@router.get(
    "/live",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "events: hello, runs, run"}},
)
async def live(
    request: Request, since: Moment | None = None, last_event_id: Annotated[str, Header(max_length=40)] = ""
) -> StreamingResponse:
    """Events: `hello` (version of the web), `runs` (a run came or went), `run` (one grew: its last step and state)."""
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
        for missed in [] if since is None else await run_in_threadpool(watcher.missed, since):
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
