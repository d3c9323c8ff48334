"""Keep the cache equal to a lake while a server shows it: every run, the last shipped one first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from rollscope.errors import RollscopeError

from . import engine, ledger, mirror, tables
from .objects import Objects
from .place import Place

LOOK_SECONDS = 5.0


class Mirroring:
    """Fetches what was shipped since the last look. `folder` is an ordinary folder of runs."""

    def __init__(self, place: Place) -> None:
        self.place, self.folder = place, mirror.root_of(place)
        self._objects = Objects(place)
        self._seen: dict[str, int] = {}  # run -> number of the last ship that was fetched
        os.makedirs(self.folder, exist_ok=True)

    def look(self) -> int:
        """Fetch what is new; return how many runs had something. Raises a sentence."""
        last = self._last()
        for run in set(self._seen) - set(last):
            mirror.remove(os.path.join(self.folder, run))
            del self._seen[run]
        changed = {run: ship for run, ship in last.items() if self._seen.get(run) != ship}
        for run in changed:
            held = ledger.read(self.place, run)
            mirror.refresh(self._objects, os.path.join(self.folder, run), held.files, held.gone)
            self._seen[run] = held.ship
        return len(changed)

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
