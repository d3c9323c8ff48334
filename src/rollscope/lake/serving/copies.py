"""The server's copies of the folders of runs that trainers ship through it.

They are for working alone: whatever is lost with them is fetched from the lake again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rollscope.lake.shipping.push import Pusher

PREFIX, LOCK = "intake-", ".lock"
IDLE_SECONDS = 900.0  # after which a copy is dropped: the run is over, or another server has it


@dataclass(slots=True)
class Copy:
    """The copy of one run's folder; with a pusher if it is as the lake has the run."""

    path: str
    pusher: Pusher | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    used: float = 0.0
    users: int = 0

    def clear(self) -> None:
        self.pusher = None
        shutil.rmtree(self.path, ignore_errors=True)


class Copies:
    """A folder of this process alone, which the next server removes if this one is killed."""

    def __init__(self, cache: str) -> None:
        parent = os.path.dirname(cache)
        os.makedirs(parent, exist_ok=True)
        _remove_left(parent)
        self._folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        self._locked = _lock(self._folder)
        self._copies: dict[str, Copy] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, run: str) -> Iterator[Copy]:
        """The copy of a run, for one thread at a time."""
        with self._lock:
            copy = self._copies.setdefault(run, Copy(os.path.join(self._folder, run)))
            copy.users += 1
        try:
            with copy.lock:
                yield copy
        finally:
            with self._lock:
                copy.users, copy.used = copy.users - 1, time.monotonic()
                self._drop_idle()

    def _drop_idle(self) -> None:
        before = time.monotonic() - IDLE_SECONDS
        for run in [run for run, copy in self._copies.items() if not copy.users and copy.used < before]:
            self._copies.pop(run).clear()

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._locked)


def _lock(folder: str) -> int:
    """Hold a lock as long as this process lives."""
    fd = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _remove_left(parent: str) -> None:
    """Remove the folders of servers that live no more."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        if name.startswith(PREFIX) and os.path.exists(os.path.join(folder, LOCK)):
            with contextlib.suppress(OSError):  # its server lives
                fd = _lock(folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(fd)
