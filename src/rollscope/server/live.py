"""What changed, as it happens: server-sent events that name runs, never data. One stream serves all tabs of a browser.

One task looks at the folders while anybody listens. Streams end when the server is told to, so Ctrl-C does not wait for tabs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from rollscope.server.library import Library

router = APIRouter(tags=["live"])
LOOK_SECONDS = 0.35
BEAT_SECONDS = 15.0  # proxies close streams that say nothing


class Watcher:
    """Looks at the store for all listeners together."""

    def __init__(self, library: Library, digest: str) -> None:
        self.library, self.digest = library, digest
        self.listeners: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[str, tuple[float, int]] = {}
        self._version: dict[str, int] = {}
        self.closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def join(self) -> asyncio.Queue[dict[str, Any] | None]:
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(256)
        self.listeners.add(queue)
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._seen = {}
            self._task = asyncio.create_task(self._look())
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any] | None]) -> None:
        self.listeners.discard(queue)

    async def _look(self) -> None:
        first = True
        while self.listeners and not self.closed:
            for event in await run_in_threadpool(self._changes, first):
                self._tell(event)
            first = False
            await asyncio.sleep(LOOK_SECONDS)

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
        return events + [self._event(id) for id in changed]

    def _event(self, id: str) -> dict[str, Any]:
        with self.library.reading(id) as run:
            run.refresh()
            step = run.record().get("step")
            grew = run.folder.version != self._version.get(id)
            self._version[id] = run.folder.version
            return {"kind": "run", "run": id, "step": step, "state": run.state, "heard_ns": self.library.heard(id) * 1e9, "tables": ["metrics"] if grew else []}

    def found(self, id: str) -> None:
        """The doctor, from its own thread: there is something new to say about a run."""
        if self._loop and not self._loop.is_closed():
            event = {"kind": "run", "run": id, "step": None, "state": "", "heard_ns": self.library.heard(id) * 1e9, "tables": ["findings"]}
            self._loop.call_soon_threadsafe(self._tell, event)

    def close(self) -> None:
        """End every stream now."""
        self.closed = True
        self._tell(None)


def _frame(event: dict[str, Any]) -> str:
    return f"data: {json.dumps(event)}\n\n"


@router.get("/live", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}, "description": "events: hello, runs, run"}})
async def live(request: Request) -> StreamingResponse:
    """Events: `hello` (version of the web), `runs` (a run came or went), `run` (one grew: its last step and state)."""
    watcher: Watcher = request.app.state.watcher
    return StreamingResponse(_events(watcher), media_type="text/event-stream", headers={"cache-control": "no-store", "x-accel-buffering": "no"})


async def _events(watcher: Watcher) -> AsyncIterator[str]:
    queue = watcher.join()
    try:
        yield _frame({"kind": "hello", "digest": watcher.digest})
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
