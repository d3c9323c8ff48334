"""Keep the folders of a cache equal to a lake while a server shows it, newest ship first."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable

from rollscope.errors import RollscopeError
from rollscope.lake import engine, ledger, said, tables
from rollscope.lake.objects import Objects
from rollscope.lake.place import Place
from rollscope.store.listing.entries import folders

from . import mirror
from .notes import Notes

LOOK_SECONDS = 5.0
AT_ONCE = 50  # runs whose books are read by one connection


class Mirroring:
    """Fetches what is new: facts, logs and manifests of runs, and what people said."""

    def __init__(self, place: Place) -> None:
        self.place, self.folder = place, mirror.prepare(place)
        self._saying = said.Saying(place, self.folder)
        self._notes = Notes(place, self.folder)
        self._objects = Objects(place)
        self._looked = -math.inf
        self._seen = dict.fromkeys(folders(self.folder), 0)  # run -> number of the last ship that was fetched

    def look(self, most: int | None = None) -> int:
        """Fetch what is new of all runs, or of the `most` last shipped; return of how many.

        Raises a sentence.
        """
        began, last = time.monotonic(), self._last()
        for run in set(self._seen) - set(last):
            mirror.remove(os.path.join(self.folder, run))
            del self._seen[run]
        changed = {run: ship for run, ship in last.items() if self._seen.get(run) != ship}
        wanted = list(changed)[:most]
        for start in range(0, len(wanted), AT_ONCE):
            self._fetch(ledger.read_some(self.place, wanted[start : start + AT_ONCE]))
        self._notes.ship(last)
        self._saying.ship(last)
        said.fetch(self.place, self.folder)
        self._looked = began if most is None or len(changed) <= most else self._looked
        return len(changed)

    def behind(self) -> float:
        """Seconds since all of the lake was looked at; infinite before."""
        return time.monotonic() - self._looked

    def _fetch(self, states: dict[str, ledger.State]) -> None:
        for run, held in states.items():
            folder = os.path.join(self.folder, run)
            mirror.refresh(self._objects, folder, held.files, held.gone)
            self._seen[run] = held.ship
            self._notes.know(run, held.files)

    def _last(self) -> dict[str, int]:
        """Run -> the number of its last ship, the last shipped run first."""
        with engine.connected(self.place, read_only=True) as connection:
            tables.check_version(connection, self.place.folder)
            query = "SELECT run, max(ship) FROM lake.book.ships GROUP BY run ORDER BY max(time_ns) DESC"
            return dict(connection.execute(query).fetchall())

    def keep_looking(self, say: Callable[[str], None]) -> None:
        """Look for ever, in a thread. What is there stays readable while the lake is down."""
        threading.Thread(target=self._keep, args=(say,), name="rollscope-lake", daemon=True).start()

    def _keep(self, say: Callable[[str], None]) -> None:
        waits, down = threading.Event(), False
        while True:
            try:
                self.look()
                down = False
            except (RollscopeError, OSError) as error:
                if not down:
                    say(f"the lake cannot be read, and what was fetched is shown: {error}")
                down = True
            waits.wait(LOOK_SECONDS)
