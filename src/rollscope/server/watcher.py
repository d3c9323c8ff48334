"""Watches the store's folders for changes, for all listeners together, while anyone listens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rollscope.errors import RollscopeError
from rollscope.server.listing.run_rows import RunRows
from rollscope.store.project.log import ProjectLog
from rollscope.store.run import Run

from .changes import Changes, News
from .library import Busy, Library

log = logging.getLogger("rollscope.server")
LOOK_SECONDS = 0.1
REST = 20  # times as long as a look took: a store of thousands of runs is looked at less often
MOST_REST = 0.5  # seconds: a change is told within a second
SLACK = 1.0  # seconds by which an event, and the clock of the files, may lag behind
BUSY_SECONDS = 0.1  # that an event waits for a run which a request reads; then it tells what it knows
QUEUE = 256  # events that a listener may leave unread
Event = dict[str, Any]
Listener = asyncio.Queue[Event | None]
Result = TypeVar("Result")


class Watcher:
    """Sends each listener an event per change. Events name runs; they carry no data."""

    def __init__(self, library: Library, rows: RunRows, digest: str, project: ProjectLog) -> None:
        self.library, self.rows, self.digest, self.project = library, rows, digest, project
        self._entries = 0  # of the project log that were told
        self.listeners: set[Listener] = set()
        self.looked = asyncio.Event()  # set once every later change is told
        self.closed = False
        self._changes = Changes(library, rows)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rollscope-watch")  # never waits for requests
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._versions: dict[str, int] = {}
        self._new_findings: dict[str, float] = {}  # run -> when its findings last changed
        self._owed: set[str] = set()  # runs whose step and state are still to be told

    def join(self) -> Listener:
        """Add a listener; the first one starts the watch."""
        queue: Listener = asyncio.Queue(QUEUE)
        self.listeners.add(queue)
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self.looked.clear()
            self._task = asyncio.create_task(self._watch())
        return queue

    def leave(self, queue: Listener) -> None:
        self.listeners.discard(queue)

    async def _watch(self) -> None:
        await self.run(self._changes.begin)
        await self.run(self._project_events)
        self.looked.set()
        while self.listeners and not self.closed:
            began = time.monotonic()
            news = await self.run(self._changes.look)
            rest = min(MOST_REST, max(LOOK_SECONDS, REST * (time.monotonic() - began)))
            for event in await self.run(partial(self._events, news)):
                self._tell(event)
            await asyncio.sleep(rest)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run a call in the watcher's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _tell(self, event: Event | None) -> None:
        for queue in self.listeners:
            with contextlib.suppress(asyncio.QueueFull):  # a tab that does not read hears of the next change
                queue.put_nowait(event)

    def _events(self, news: News) -> list[Event]:
        events: list[Event] = [{"kind": "runs"}] if news.listed else []
        events += self._project_events()
        again = self._owed - set(news.grown)
        events += [event for id in news.grown for event in self._run_events(id)]
        return events + [event for id in again for event in self._run_events(id) if id not in self._owed]

    def _project_events(self) -> list[Event]:
        """An event if the project log has new entries, with their kinds."""
        kinds = sorted({entry.kind for entry in self.project.follow(self._entries) if entry.kind})
        is_new, self._entries = len(self.project) != self._entries, len(self.project)
        return [{"kind": "project", "kinds": kinds}] if is_new else []

    def missed(self, since: float) -> list[Event]:
        """Changes after a page was made and before its stream was open; no other event has them."""
        since -= SLACK
        events: list[Event] = [{"kind": "runs"}] if self.library.listed() > since else []
        if any(entry.time_ns / 1e9 > since for entry in self.project.follow()[-QUEUE:]):
            events.append({"kind": "project", "kinds": []})
        for id in list(self._changes.marks):
            if max(self._changes.newest(id), self._new_findings.get(id, 0.0)) > since:
                events += self._run_events(id, grew=True)
        return events

    def _run_events(self, id: str, grew: bool = False) -> list[Event]:
        """The event of a run. A run that cannot be read has none, and must not end the watch.

        While a request reads the run, the event says only that it grew, and the rest is owed: a
        page hears of a change within a second also when every answer takes long.
        """
        try:
            with self.library.reading(id, BUSY_SECONDS) as run:
                run.refresh()
                self._owed.discard(id)
                if run.state != "running":
                    self.rows.ended(id)
                tables = ["metrics"] if grew or self._grew(id, run) else []
                return [self._event(id, run.record().get("step"), run.state, tables)]
        except Busy:
            self._owed.add(id)
            return [self._event(id, None, "", ["metrics"])]
        except (RollscopeError, OSError):
            self._owed.discard(id)
            return []
        except Exception:
            log.exception("cannot tell what changed in %s", id)
            return []

    def _grew(self, id: str, run: Run) -> bool:
        before, self._versions[id] = self._versions.get(id), run.version
        return run.version != before

    def _event(self, id: str, step: int | None, state: str, tables: list[str]) -> Event:
        heard_ns = self.library.heard(id) * 1e9
        return {"kind": "run", "run": id, "step": step, "state": state, "heard_ns": heard_ns, "tables": tables}

    def tell_findings(self, id: str) -> None:
        """Tell listeners that a run's findings changed. Any thread may call this."""
        self._new_findings[id] = time.time()
        self.rows.told()
        self._tell_soon(self._event(id, None, "", ["findings"]))

    def tell_runs(self) -> None:
        """Tell listeners that the list of runs has more rows. Any thread may call this."""
        self.rows.told()
        self._tell_soon({"kind": "runs"})

    def _tell_soon(self, event: Event) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, event)

    def close(self) -> None:
        """End every stream now."""
        self.closed = True
        self._tell(None)
        self._thread.shutdown(wait=False, cancel_futures=True)
