"""The runs this server shows: readers kept open, each behind its own lock, refreshed when asked for.

A folder that is not there yet is an empty library, not an error: a server may be started before the first run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rollscope.errors import NotFound, nearest
from rollscope.store.run import Run
from rollscope.store.store import Store, is_run
from rollscope.views import run

T = TypeVar("T")
FRESH_SECONDS = 0.2  # a screen asks several questions at once; they may share one look at the files


class Library:
    def __init__(self, path: str) -> None:
        self.path = path
        self._store: Store | None = None
        self._guard = threading.Lock()
        self._locks: dict[str, threading.RLock] = {}
        self._looked: dict[str, float] = {}
        self._listed: tuple[float, list[str]] = (-1.0, [])
        self._kept: dict[tuple[str, str], tuple[int, Any]] = {}

    def ids(self) -> list[str]:
        now = time.monotonic()
        if now - self._listed[0] > FRESH_SECONDS:
            self._listed = (now, self.store().ids() if os.path.isdir(self.path) else [])
        return self._listed[1]

    def store(self) -> Store:
        with self._guard:
            if self._store is None:
                if not os.path.isdir(self.path):
                    raise NotFound(
                        f"no folder {self.path!r} yet. Record a run with rollscope.init(), or see one with: rollscope demo"
                    )
                self._store = run.open(self.path)
            return self._store

    @contextmanager
    def reading(self, id: str) -> Iterator[Run]:
        """A run, for one reader at a time. Only names of folders directly below the store are runs; nothing else is ever opened."""
        if not self._here(id):
            raise self._not_here(id)
        with self._guard:
            lock = self._locks.setdefault(id, threading.RLock())
        with lock:
            try:
                yield self._fresh(id)
            except FileNotFoundError:
                self._listed = (-1.0, [])
                if self._here(id):
                    raise
                raise self._not_here(id) from None  # removed while we looked

    def _here(self, id: str) -> bool:
        """A run may have come since the last look: its absence is said only of a look that is made for the question."""
        if id not in self.ids():
            self._listed = (-1.0, [])
        return id in self.ids()

    def _not_here(self, id: str) -> NotFound:
        known = self.ids()
        return NotFound(
            f"no run {id[:80]!r} here, there are {len(known)}.{nearest(id, known)} Pick one from the list of runs."
        )

    def _fresh(self, id: str) -> Run:
        store, now = self.store(), time.monotonic()
        run = store.opened(id)
        if run is None:
            run = store.run(id)
        elif now - self._looked.get(id, 0.0) > FRESH_SECONDS:
            run.refresh()
        else:
            return run
        self._looked[id] = now
        return run

    def keep(self, run: Run, id: str, key: str, make: Callable[[], T]) -> T:
        """What `make` gave for this state of the run; made again when the run has grown."""
        kept = self._kept.get((id, key))
        if kept is None or kept[0] != run.version:
            kept = self._kept[(id, key)] = (run.version, make())
        return kept[1]

    def listed(self) -> float:
        """When a run last came or went, in seconds since the epoch."""
        try:
            return os.stat(self.path).st_mtime
        except OSError:
            return 0.0

    def heard(self, id: str) -> float:
        """When a file of the run last grew, in seconds since the epoch; cheap enough to ask twice a second."""
        folder = self.path if is_run(self.path) else os.path.join(self.path, id)
        try:
            return max((entry.stat().st_mtime for entry in os.scandir(folder)), default=0.0)
        except OSError:  # removed while we looked
            return 0.0

    def fingerprint(self, id: str) -> tuple[float, int]:
        """Changes whenever the run's folder does."""
        folder = self.path if is_run(self.path) else os.path.join(self.path, id)
        try:
            stats = [entry.stat() for entry in os.scandir(folder)]
        except OSError:
            return (0.0, 0)
        return (max((s.st_mtime for s in stats), default=0.0), sum(s.st_size for s in stats))
