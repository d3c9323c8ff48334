"""Keep the folders of a cache equal to a lake while a server shows it, newest ship first."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from rollscope.lake import engine, ledger, said, tables
from rollscope.lake.ledger import State
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.lake.spool import Held, Object, held
from rollscope.store.listing.entries import folders
from rollscope.store.log import files as logs

from . import mirror
from .notes import Notes

LOOK_SECONDS = 5.0
AT_ONCE = 50  # runs whose books are read by one question
MOST_RECENT = 256


@dataclass(frozen=True, slots=True)
class Seen:
    """Of a run's ships, the number of the last one and the time of the first one."""

    ship: int = 0
    first_ns: int = 0

    def is_after(self, other: Seen | None) -> bool:
        """True if there is more than another has seen, or another run of the same id."""
        return other is None or self.first_ns != other.first_ns or self.ship > other.ship


class Mirroring:
    """Fetches what is new: facts, logs and manifests of runs, and what people said."""

    def __init__(self, place: Place) -> None:
        self.place, self.folder = place, mirror.prepare(place)
        self._saying = said.Saying(place, self.folder)
        self._notes = Notes(place, self.folder)
        self._objects = Objects(place)
        self._looked = -math.inf
        self._seen = dict.fromkeys(folders(self.folder), Seen())
        self._book: dict[str, Seen] = {}  # as the last look found it
        self._recent: dict[str, Held] = {}  # the files of runs that grew lately, and of logs the last object
        self._lock = threading.Lock()  # what is known of a run changes at once
        self._turns: dict[str, threading.Lock] = {}  # one thread at a time writes the files of a run

    def look(self, most: int | None = None) -> int:
        """Fetch what is new of all runs, or of the `most` last shipped; return of how many.

        Raises a sentence.
        """
        began, last = time.monotonic(), self._last()
        self._forget_altered(last)
        for run in set(self._seen) - set(last):
            mirror.remove(os.path.join(self.folder, run))
            del self._seen[run]
        changed = {run: seen for run, seen in last.items() if seen.is_after(self._seen.get(run))}
        wanted = list(changed.items())[:most]
        for start in range(0, len(wanted), AT_ONCE):
            self._fetch(dict(wanted[start : start + AT_ONCE]))
        self._notes.ship(last)
        self._saying.ship(last)
        said.fetch(self.place, self.folder)
        self._looked = began if most is None or len(changed) <= most else self._looked
        return len(changed)

    @property
    def looked(self) -> float:
        """When all of the lake was looked at, by the monotonic clock; minus infinity before."""
        return self._looked

    def _forget_altered(self, last: dict[str, Seen]) -> None:
        """Read the whole book again of a run that came back to the lake, or that the cache lost.

        If its last ship is an older one than it was, the lake was restored from a backup.
        """
        for run in [run for run, before in self._book.items() if run in last and last[run].ship < before.ship]:
            with self._lock:
                self._recent.pop(run, None)
                self._seen[run] = Seen()
        self._book = last
        for run, files in list(self._recent.items()):
            known = self._seen.get(run)
            is_same = run in last and known is not None and last[run].first_ns == known.first_ns
            if not is_same or not _is_there(os.path.join(self.folder, run), files):
                with self._lock:
                    self._recent.pop(run, None)

    def shipped(self, run: str, state: State, objects: Objects) -> None:
        """This process shipped a run: take over what it knows, without asking the lake.

        A run that the cache lacks is left to the next look.
        """
        with self._turn(run):
            seen, before = self._seen.get(run), self._recent.get(run)
            if seen is not None and before is not None:
                gone = before.keys() - state.files.keys()
                self._take(run, replace(seen, ship=state.ship), state.files, gone, objects)

    def _turn(self, run: str) -> threading.Lock:
        with self._lock:
            return self._turns.setdefault(run, threading.Lock())

    def _take(self, run: str, seen: Seen, files: Held, gone: Collection[str], objects: Objects) -> None:
        """Bring the cache to a run as of a ship, in its turn; what it has of a later ship stays."""
        if not seen.is_after(self._seen.get(run)):
            return
        self._notes.know(run, files)  # before they are there: they are no notes that were written here
        mirror.refresh(objects, os.path.join(self.folder, run), files, gone)
        recent = {name: _last_of(name, parts) for name, parts in files.items()}
        with self._lock:
            self._recent.pop(run, None)
            self._recent[run], self._seen[run] = recent, seen

    def _fetch(self, changed: dict[str, Seen]) -> None:
        """Fetch what is new of some runs: of those that grew lately, only that is read."""
        with self._lock:
            recent = {run: self._recent[run] for run in changed if run in self._recent}
            after = {run: self._seen[run].ship if run in recent else 0 for run in changed}
        for run, new in ledger.objects_since(self.place, after).items():
            objects = [*(part for parts in recent.get(run, {}).values() for part in parts), *new]
            files = held(objects)
            gone = {object.name for object in objects} - files.keys()
            with self._turn(run):
                self._take(run, changed[run], files, gone, self._objects)
        with self._lock:
            for run in list(self._recent)[:-MOST_RECENT]:
                del self._recent[run]

    def _last(self) -> dict[str, Seen]:
        """Each run's ships, the last shipped run first."""
        with engine.connected(self.place, read_only=True) as connection:
            tables.check_version(connection, self.place.folder)
            query = "SELECT run, max(ship), min(time_ns) FROM lake.book.ships GROUP BY run ORDER BY max(time_ns) DESC"
            return {run: Seen(ship, first_ns) for run, ship, first_ns in connection.execute(query).fetchall()}

    def keep_looking(self, say: Callable[[str], None], looked: Callable[[float], None]) -> None:
        """Look for ever, in a thread. What is there stays readable while the lake is down.

        `looked` hears after each look when all of the lake was looked at.
        """
        threading.Thread(target=self._keep, args=(say, looked), name="rollscope-lake", daemon=True).start()

    def _keep(self, say: Callable[[str], None], looked: Callable[[float], None]) -> None:
        waits, down = threading.Event(), False
        while True:
            try:
                self.look()
                looked(self._looked)
                down = False
            except Exception as error:  # whatever it is: a server that no longer looks shows old runs for ever
                if not down:
                    say(f"the lake cannot be read, and what was fetched is shown: {error}")
                down = True
            waits.wait(LOOK_SECONDS)


def _last_of(name: str, parts: list[Object]) -> list[Object]:
    """What has to be known of a file to add to it: of a log, which only grows, where it ends."""
    return parts[-1:] if logs.NAME.fullmatch(name) else parts


def _is_there(folder: str, files: Held) -> bool:
    """True if a folder has the logs up to the objects that are known of them."""
    wanted = {name: parts[0].start for name, parts in files.items() if logs.NAME.fullmatch(name)}
    try:
        return all(os.path.getsize(os.path.join(folder, name)) >= start for name, start in wanted.items())
    except OSError:
        return False
