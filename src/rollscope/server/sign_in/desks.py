"""Desks: what routes read from, once for all runs and once for each set of runs people may see.

A desk has a library, rows, values, a project log and a watcher of its own, over its runs alone.
Findings are shared: they are asked for by run, after the run was opened.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import State

from rollscope.server.library import Library
from rollscope.server.listing.last_values import LastValues
from rollscope.server.listing.run_rows import RunRows
from rollscope.server.watcher import Watcher
from rollscope.store.listing.allowed import Allowed, Sight
from rollscope.store.project.seen_log import SeenLog

MOST_DESKS = 32  # beside those whose events someone hears
SHARED = ("assets", "doctor", "counts", "queues", "turns", "door", "intake", "traffic", "behind")


class Desk:
    """What `request.app` is for a route: an application whose state has some runs alone."""

    def __init__(self, state: State) -> None:
        self.state = state


class Desks:
    """The desks of an application."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._limited: OrderedDict[Allowed, Desk] = OrderedDict()
        self._counts: dict[Allowed, list[Any]] = {}  # findings of the runs of a desk, as they were told
        self._lock = threading.Lock()

    def nobody(self) -> Desk:
        """A desk without any run, for routes that are open to all."""
        kept = ("assets", "door", "provider")
        return Desk(State({name: getattr(self._app.state, name) for name in kept}))

    def of(self, allowed: Allowed | None) -> Desk:
        """The desk of someone who may see these runs; None: all."""
        if allowed is None:
            return Desk(self._app.state)
        with self._lock:
            desk = self._limited.get(allowed)
            if desk is None:
                desk = self._limited[allowed] = Desk(self._made(allowed))
            self._limited.move_to_end(allowed)
            self._leave_old()
            return desk

    def _made(self, allowed: Allowed) -> State:
        whole, path = self._app.state, self._app.state.library.path
        state = State({name: getattr(whole, name) for name in SHARED})
        state.library = Library(path, allowed=allowed)
        state.rows, state.values = RunRows(state.library), LastValues(state.library)
        state.project = SeenLog(path, Sight(allowed))
        state.watcher = Watcher(state.library, state.rows, whole.assets.digest, state.project)
        return state

    def _leave_old(self) -> None:
        idle = [allowed for allowed, desk in self._limited.items() if not desk.state.watcher.listeners]
        for allowed in idle[: max(0, len(idle) - MOST_DESKS)]:
            _close(self._limited.pop(allowed))
            self._counts.pop(allowed, None)

    # ---- news

    def tell_findings(self, id: str) -> None:
        """A run's findings changed: tell those who see the run. Any thread may call this."""
        self._app.state.watcher.tell_findings(id)
        for desk in list(self._limited.values()):
            if desk.state.library.entry(id) is not None:
                desk.state.watcher.tell_findings(id)

    def tell_runs(self) -> None:
        """The list of runs has news: tell those for whom it has. Any thread may call this."""
        self._app.state.watcher.tell_runs()
        for allowed, desk in list(self._limited.items()):
            counts = [self._app.state.counts.of(entry) for entry in desk.state.library.entries()]
            if counts != self._counts.get(allowed):
                self._counts[allowed] = counts
                desk.state.watcher.tell_runs()

    def close(self) -> None:
        """End every stream now."""
        self._app.state.watcher.close()
        for desk in list(self._limited.values()):
            _close(desk)


def _close(desk: Desk) -> None:
    desk.state.rows.close()
    desk.state.watcher.close()
