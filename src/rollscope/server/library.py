"""The runs this server shows: readers kept open, each behind its own lock, refreshed when read.

A folder that does not exist yet is an empty library: a server may start before the first run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rollscope.errors import NotFound, nearest
from rollscope.store.run import Run
from rollscope.store.store import Store, is_run
from rollscope.views import run

FRESH_SECONDS = 0.2  # a screen sends several requests at once; they share one look at the files
NEVER = -1.0


class Library:
    """The runs below a folder, or the one run whose folder it is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._store: Store | None = None
        self._guard = threading.Lock()
        self._locks: dict[str, threading.RLock] = {}
        self._refreshed: dict[str, float] = {}  # run -> when its reader last looked at the files
        self._ids: list[str] = []
        self._listed_at = NEVER

    def ids(self) -> list[str]:
        now = time.monotonic()
        if now - self._listed_at > FRESH_SECONDS:
            self._listed_at, self._ids = now, self.store().ids() if os.path.isdir(self.path) else []
        return self._ids

    def store(self) -> Store:
        with self._guard:
            if self._store is None:
                if not os.path.isdir(self.path):
                    raise NotFound(
                        f"no folder {self.path!r} yet. Record a run with rollscope.init(), "
                        "or see one with: rollscope demo"
                    )
                self._store = run.open(self.path)
            return self._store

    @contextmanager
    def reading(self, id: str) -> Iterator[Run]:
        """A run, locked for one reader at a time. Only runs of this library are ever opened."""
        if not self._has(id):
            raise self._not_found(id)
        with self._guard:
            lock = self._locks.setdefault(id, threading.RLock())
        with lock:
            try:
                yield self._fresh(id)
            except FileNotFoundError:
                self._listed_at = NEVER
                if self._has(id):
                    raise
                raise self._not_found(id) from None  # the run was removed while it was read

    def _has(self, id: str) -> bool:
        """Does the run exist? If it is not listed, list the runs again: it may be new."""
        if id not in self.ids():
            self._listed_at = NEVER
        return id in self.ids()

    def _not_found(self, id: str) -> NotFound:
        known = self.ids()
        count = f"{len(known)} run{'' if len(known) == 1 else 's'}"
        return NotFound(f"no run {id[:80]!r} among {count} here.{nearest(id, known)} Pick one from the list of runs.")

    def _fresh(self, id: str) -> Run:
        store, now = self.store(), time.monotonic()
        reader = store.opened(id)
        if reader is not None and now - self._refreshed.get(id, 0.0) <= FRESH_SECONDS:
            return reader
        if reader is None:
            reader = store.run(id)
        else:
            reader.refresh()
        self._refreshed[id] = now
        return reader

    def listed(self) -> float:
        """When a run last came or went, in seconds since the epoch."""
        try:
            return os.stat(self.path).st_mtime
        except OSError:
            return 0.0

    def heard(self, id: str) -> float:
        """When a file of the run last grew, in seconds since the epoch."""
        return self.fingerprint(id)[0]

    def fingerprint(self, id: str) -> tuple[float, int]:
        """Newest change and total size of the run's files; zeros if the run was removed."""
        folder = self.path if is_run(self.path) else os.path.join(self.path, id)
        try:
            stats = [entry.stat() for entry in os.scandir(folder)]
        except OSError:
            return 0.0, 0
        return max((stat.st_mtime for stat in stats), default=0.0), sum(stat.st_size for stat in stats)
