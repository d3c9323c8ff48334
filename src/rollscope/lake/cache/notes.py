"""Ship the notes that people write into runs of a cache, in the cockpit of a server."""

from __future__ import annotations

import os
from collections.abc import Collection

from rollscope.lake.place import Place
from rollscope.lake.shipping import addition, parts
from rollscope.store.log import files


class Notes:
    """Finds logs that the lake never held. A folder is looked into when it has changed."""

    def __init__(self, place: Place, root: str) -> None:
        self._place, self._root = place, root
        self._known: dict[str, set[str]] = {}  # run -> files that need no look: shipped, or not notes
        self._changed: dict[str, int] = {}

    def know(self, run: str, names: Collection[str]) -> None:
        """These files of a run came from the lake."""
        self._known.setdefault(run, set()).update(names)

    def ship(self, runs: Collection[str]) -> None:
        """Ship the notes in these runs that the lake lacks."""
        for run in self._known.keys() & set(runs):
            folder = os.path.join(self._root, run)
            changed = os.stat(folder).st_mtime_ns
            if self._changed.get(run) != changed:
                self._ship(run, folder)
                self._changed[run] = changed

    def _ship(self, run: str, folder: str) -> None:
        new = [name for name in files.listed(folder) if name not in self._known[run]]
        if notes := [name for name in new if _is_notes(folder, name)]:
            addition.add_logs(self._place, run, folder, notes)
        self._known[run].update(new)


def _is_notes(folder: str, name: str) -> bool:
    """True if a log holds notes and nothing else: findings are each server's own."""
    part = parts.of_log(folder, name, 0)
    return part is not None and part.tables.keys() == {"notes"}
