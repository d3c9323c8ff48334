"""Looks at paths again and again: has a file there changed?

Where there are many files, a look takes long, and the machine has better to do: then the rest
between two looks is longer, too.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from .followed import State, state

TIMES = 200  # the rest is this many times as long as it took to look
LONGEST = 60.0  # seconds between two looks, unless more are asked for


class Watch:
    """The files at paths, which may not exist yet."""

    def __init__(self, paths: list[Path], every: float) -> None:
        """`every` is the least number of seconds between two looks."""
        self._paths, self._every = paths, every
        self._seen: dict[str, State] = {}
        self.rest = every  # seconds until the next look
        self.changed()

    def changed(self) -> bool:
        """True if a file changed, came or went since the last look."""
        began = time.monotonic()
        now: dict[str, State] = {}
        for path in self._paths:
            now |= {str(path): state(path)} if path.is_file() else _below(path)
        changed, self._seen = now != self._seen, now
        self.rest = max(self._every, min(TIMES * (time.monotonic() - began), LONGEST))
        return changed

    def look_again(self) -> None:
        """Let the next look find a change: what changed before could not be imported."""
        self._seen = {"": ()}


def _below(folder: Path) -> dict[str, State]:
    """The files below a folder; a database's log is one of them."""
    found: dict[str, State] = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = f"{at}{os.sep}{name}"
            with contextlib.suppress(OSError):
                about = os.stat(path)
                found[path] = ((about.st_size, about.st_mtime_ns),)
    return found
