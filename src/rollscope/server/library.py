"""The runs this server shows: a few readers kept open, each behind its own lock.

A folder that does not exist yet is an empty library: a server may start before the first run.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rollscope.errors import CannotRead, NotFound, nearest
from rollscope.lake import door
from rollscope.store.listing import unreadable
from rollscope.store.listing.allowed import Allowed
from rollscope.store.listing.entries import Entry
from rollscope.store.run import Run
from rollscope.store.store import Store

FRESH_SECONDS = 0.2  # a screen sends several requests at once; they share one look at the files
CROWDED_SECONDS = 1.0  # the same where others wait for the run: they share what is computed from it
MOST_OPEN = 72  # readers that stay open beside those in use: a chart may have 64 runs, read twice
MOST_LIVE_BYTES = 256 << 20  # of logs that readers out of use may hold in memory
IDLE_SECONDS = 600.0
MOST_COMPARED = 1000  # ids that a wrong one is compared with, for a hint
NEVER = -1.0


@dataclass(slots=True)
class _Held:
    """A run's reader, who may use it, and when it was last used."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    reader: Run | None = None
    users: int = 0  # requests that hold or wait for the lock
    refreshed: float = NEVER  # when the reader last looked at the files
    used: float = NEVER


class Busy(Exception):
    """Another request uses the run."""


@contextmanager
def _locked(lock: threading.RLock, wait: float) -> Iterator[None]:
    if not lock.acquire(timeout=wait):
        raise Busy
    try:
        yield
    finally:
        lock.release()


class Library:
    """The runs below a folder, or the one run whose folder it is.

    With `allowed`, only the runs that someone may see: no other is listed, opened or counted.
    """

    def __init__(self, path: str, most_open: int = MOST_OPEN, allowed: Allowed | None = None) -> None:
        self.path, self.most_open, self.allowed = path, most_open, allowed
        self._store: Store | None = None
        self._guard = threading.Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()  # the one used last is at the end
        self._entries: list[Entry] = []
        self._listed_at = NEVER

    # ---- which runs there are

    def entries(self) -> list[Entry]:
        """Every run, as a look at the disk not longer ago than a screen's requests shows it."""
        now = time.monotonic()
        if self._listed_at == NEVER or now - self._listed_at > FRESH_SECONDS:
            self._entries = self.store().entries() if os.path.isdir(self.path) else []
            self._listed_at = time.monotonic()
        return self._entries

    def entry(self, id: str) -> Entry | None:
        """The run of this id; None if there is none."""
        return self.store().entry(id) if os.path.isdir(self.path) else None

    def look_again(self) -> None:
        """Runs came or went: the next list looks at the disk."""
        self._listed_at = NEVER

    def ids(self) -> list[str]:
        return [entry.id for entry in self.entries()]

    def store(self) -> Store:
        with self._guard:
            if self._store is None:
                if not os.path.isdir(self.path):
                    raise NotFound(
                        f"no folder {self.path!r} yet. Record a run with rollscope.init(), "
                        "or see one with: rollscope demo"
                    )
                self._store = door.open_for(self.path, self.allowed)
            return self._store

    def _not_found(self, id: str) -> NotFound:
        self._listed_at = NEVER
        known = self.ids()
        count = f"{len(known):,} run{'' if len(known) == 1 else 's'}"
        hint = nearest(id, known) if len(known) <= MOST_COMPARED else ""
        return NotFound(f"no run {id[:80]!r} among {count} here.{hint} Pick one from the list of runs.")

    # ---- reading one of them

    @contextmanager
    def reading(self, id: str, wait: float = -1) -> Iterator[Run]:
        """A run, locked for one reader at a time. Only runs of this library are ever opened.

        An error of the disk becomes a sentence about this run. A reader in use is never closed.
        With `wait`, raises Busy if another request uses the run for longer than so many seconds.
        """
        if not os.path.isdir(self.path) or self.store().entry(id) is None:
            raise self._not_found(id)
        held = self._take(id)
        try:
            with _locked(held.lock, wait):
                yield self._fresh(id, held)
        except FileNotFoundError:
            if self.store().entry(id) is not None:
                raise
            raise self._not_found(id) from None  # the run was removed while it was read
        except OSError as error:
            raise CannotRead(unreadable.sentence(id, error)) from error
        finally:
            self._give_back(held)

    def is_open(self, id: str) -> bool:
        """True if a reader of this run is open."""
        held = self._held.get(id)
        return held is not None and held.reader is not None

    def let_go(self, id: str) -> None:
        """Close the reader of a run, unless somebody uses it."""
        with self._guard:
            held = self._held.get(id)
            idle = self._held.pop(id) if held is not None and not held.users else None
        if idle is not None and idle.reader is not None:
            idle.reader.close()

    def _take(self, id: str) -> _Held:
        with self._guard:
            held = self._held.setdefault(id, _Held())
            self._held.move_to_end(id)
            held.users += 1
            return held

    def _give_back(self, held: _Held) -> None:
        with self._guard:
            held.users -= 1
            held.used = time.monotonic()
            closing = [other for id in self._superfluous() if (other := self._held.pop(id)).reader is not None]
        for other in closing:
            if other.reader is not None:
                other.reader.close()

    def _superfluous(self) -> list[str]:
        """Runs whose readers nobody uses and that are too many, too large, or idle for long."""
        idle = [(id, held) for id, held in self._held.items() if not held.users]
        before, bytes_held, superfluous = time.monotonic() - IDLE_SECONDS, 0, []
        for position, (id, held) in enumerate(reversed(idle)):
            bytes_held += held.reader.live_bytes if held.reader is not None else 0
            too_large = position > 0 and bytes_held > MOST_LIVE_BYTES
            if held.reader is None or position >= self.most_open or held.used < before or too_large:
                superfluous.append(id)
        return superfluous

    def _fresh(self, id: str, held: _Held) -> Run:
        now = time.monotonic()
        if held.reader is None:
            held.reader = self.store().read(id)
        elif now - held.refreshed > (FRESH_SECONDS if held.users <= 1 else CROWDED_SECONDS):
            held.reader.refresh()
        else:
            return held.reader
        held.refreshed = now
        return held.reader

    # ---- when files changed

    def listed(self) -> float:
        """When a run last came or went, in seconds since the epoch."""
        if self.allowed is not None:  # the folder's time would tell of other runs
            return max((max(entry.marks, default=0) for entry in self.entries()), default=0) / 1e9
        try:
            return os.stat(self.path).st_mtime
        except OSError:
            return 0.0

    def heard(self, id: str) -> float:
        """When a file of the run last grew, in seconds since the epoch."""
        return self.fingerprint(id)[0]

    def folder(self, id: str) -> str:
        """The folder of a run."""
        inside = os.path.join(self.path, id)
        is_root = not os.path.isdir(inside) and id == os.path.basename(os.path.abspath(self.path))
        return self.path if is_root else inside

    def fingerprint(self, id: str) -> tuple[float, int]:
        """Newest change and total size of the run's files; zeros if the run was removed."""
        try:
            with os.scandir(self.folder(id)) as files:
                stats = [file.stat() for file in files]
        except OSError:
            return 0.0, 0
        return max((stat.st_mtime for stat in stats), default=0.0), sum(stat.st_size for stat in stats)
