"""Files that are followed: which of them have not changed since they were read, and what is wrong.

A file may be half written when it is read. What is wrong with it is said once the file has stayed
the same for a while, or when following ends.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from rollscope.sources import Skipped

PATIENCE = 5.0  # seconds that a file with a fault must stay the same
BESIDE = ("-wal", ".wal")  # the names of a database's log, which grows while the database does not

State = tuple[tuple[int, int], ...]  # size and time of a file, and of the log beside it


class Followed:
    def __init__(self) -> None:
        self._read: dict[str, State] = {}
        self._wrong: dict[str, tuple[State, float, list[Skipped]]] = {}  # and since when the file is like that

    def is_read(self, path: Path) -> bool:
        """True for a file that has not changed since it was read."""
        return str(path) in self._read and self._read[str(path)] == state(path)

    def was_read(self, path: Path, before: State, wrong: list[Skipped], failed: bool) -> None:
        """A file was read, with these faults. `before` is how it was when reading began.

        One that could not be read at all is tried again at the next look.
        """
        if not failed:
            self._read[str(path)] = before
        elif self.is_wrong(path) and self._wrong[str(path)][0] == before:
            return  # it is as it was at the look before
        self._wrong.pop(str(path), None)
        if wrong:
            self._wrong[str(path)] = before, time.monotonic(), wrong

    def leave(self, path: Path) -> None:
        """Leave out the files at a path that are there now, as long as they do not change."""
        below = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
        for file in [path, *below]:
            if file.is_file():
                self._read[str(file)] = state(file)

    def is_wrong(self, path: Path) -> bool:
        """True for a file that the last reading found a fault in."""
        return str(path) in self._wrong

    @property
    def waits(self) -> bool:
        """True while a fault is to be said later."""
        return any(wrong for _, _, wrong in self._wrong.values())

    def settled(self, over: bool = False) -> list[Skipped]:
        """What is wrong with files that stay as they are: all of them once following is over."""
        said = []
        for path, (before, since, wrong) in self._wrong.items():
            if over or (time.monotonic() - since >= PATIENCE and state(Path(path)) == before):
                said += wrong
                self._wrong[path] = before, since, []
        return said


def state(path: Path) -> State:
    """How a file is now: two equal states mean that nothing was written to it."""
    found = []
    for name in (str(path), *(f"{path}{end}" for end in BESIDE)):
        try:
            about = os.stat(name)
            found.append((about.st_size, about.st_mtime_ns))
        except OSError:
            found.append((-1, 0))
    return tuple(found)
