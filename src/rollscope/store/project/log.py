"""The door of the project log: say something, take it back, ask what holds now, and what is new.

`ProjectLog(root)` reads the log of a folder of runs. Each question first reads the lines that were
added since the last one, by whomever. A line that cannot be read is passed over and has a sentence
in `problems`; every other line counts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rollscope.errors import BadInput, CannotWrite, NotFound
from rollscope.store import regular_file
from rollscope.store.listing.entries import is_run
from rollscope.store.notes import author as user

from . import entry as entries
from . import kinds
from .append import append
from .entry import Entry

NAME = "project.jsonl"
LARGEST = 256 << 20  # bytes of a log that are read
MOST_PROBLEMS = 100  # whose sentences are kept
LONGEST_AUTHOR = 200


class Change(NamedTuple):
    """What an entry is to say; the value None takes the thing away."""

    kind: str
    name: str
    value: Any


class Conflict(CannotWrite):
    """Someone else changed the thing first."""


def place(root: str) -> str:
    """The path of the log of a folder of runs; a run's own folder has that of its parent."""
    folder = os.path.abspath(root)
    return os.path.join(os.path.dirname(folder) if is_run(folder) else folder, NAME)


class ProjectLog:
    """The log of one folder of runs. Threads and processes may read and write it at once."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._file: tuple[int, int] = (0, 0)  # device and inode of the file that was read
        self._offset = 0  # bytes that were read
        self._line = 0
        self._entries: dict[str, Entry] = {}
        self._problems: list[str] = []
        self._current: dict[str, dict[str, Entry]] | None = None

    # ---- say something

    def append(self, kind: str, name: str, value: Any, author: str = "", after: str | None = None) -> Entry:
        """Keep a value under a kind and a name.

        With `after`, the id of the entry one has seen ("" for none), raises Conflict if another one
        holds now: two people who change one thing both learn of it.
        """
        return self.append_all([Change(kind, name, value)], author, after)[0]

    def append_all(self, changes: Sequence[Change], author: str = "", after: str | None = None) -> list[Entry]:
        """Keep many values at once: all of them, or none."""
        for change in changes:
            kinds.check_json(change.value)
            kinds.check(*change)
        made = [self._stamped(entries.new(_author(author), *change)) for change in changes]
        self._write(made, after)
        return made

    def undo(self, ids: Iterable[str], author: str = "") -> Entry:
        """Take entries back: what held before them holds again. To undo an undo is to redo."""
        with self._lock:
            wanted = list(dict.fromkeys(ids))
            known = self._visible()
            for id in wanted:
                if id not in known:
                    raise NotFound(f"the project log has no entry {id[:80]!r}; it has {len(known):,} others")
            if not wanted:
                raise BadInput("there is nothing to undo: name at least one entry")
            made = entries.new(_author(author), undoes=tuple(wanted))
            self._write([made], None)
            return made

    def _write(self, made: list[Entry], after: str | None) -> None:
        def lines() -> bytes:
            if after is not None:
                self._check_after(made[0], after)
            return b"".join(map(entries.line, made))

        with self._lock:
            append(place(self.root), lines)
            self._read()

    def _check_after(self, made: Entry, after: str) -> None:
        holds = self.entry(made.kind, made.name)
        if (holds.id if holds else "") != after:
            who = f"{holds.author} changed it" if holds else "it was taken away"
            raise Conflict(f"{made.kind} {made.name[:80]!r} is not what you saw: {who} meanwhile. Look again.")

    # ---- ask

    def current(self, kind: str) -> dict[str, Any]:
        """The values of a kind that hold now, by name."""
        return {name: entry.value for name, entry in self.holding(kind).items()}

    def holding(self, kind: str) -> dict[str, Entry]:
        """The entries of a kind that hold now, by name: with who said it, and when."""
        with self._lock:
            shown = self._visible()
            if self._current is None:
                self._current = _current(list(shown.values()))
            return dict(self._current.get(kind, {}))

    def entry(self, kind: str, name: str) -> Entry | None:
        """The entry that holds for a thing now."""
        return self.holding(kind).get(name)

    def history(self, kind: str, name: str) -> list[Entry]:
        """All that was ever said about a thing, oldest first, with what undid it."""
        with self._lock:
            known = list(self._visible().values())
        found: dict[str, Entry] = {}
        for entry in known:
            if (entry.kind, entry.name) == (kind, name) or any(id in found for id in entry.undoes):
                found[entry.id] = entry
        return list(found.values())

    def follow(self, seen: int = 0) -> list[Entry]:
        """Entries after the first `seen`, oldest first: ask again with the number one has."""
        with self._lock:
            return list(self._visible().values())[seen:]

    def __len__(self) -> int:
        """How many entries there were when the log was last read."""
        return len(self._entries)

    def problems(self) -> list[str]:
        """A sentence for each line that cannot be read."""
        with self._lock:
            self._read()
            return list(self._problems)

    def shows(self, folder: str) -> bool:
        """May the reader of this log see the run in a folder?"""
        return True

    # ---- reading

    def _visible(self) -> dict[str, Entry]:
        """The entries that the reader of this log may see: all of them."""
        return self._read()

    def _stamped(self, entry: Entry) -> Entry:
        """An entry with what its author could see; nothing for who sees everything."""
        return entry

    def _read(self) -> dict[str, Entry]:
        """All entries, after reading the lines that are new."""
        try:
            with regular_file.opened(place(self.root)) as file:
                self._take(file.fileno())
        except FileNotFoundError:
            self._forget()
        except OSError as error:
            self._problems = [f"the project log cannot be read ({regular_file.why(error)})."]
        return self._entries

    def _take(self, fd: int) -> None:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:
            self._forget()  # another file was put in its place
            self._file = status.st_dev, status.st_ino
        if status.st_size > LARGEST:
            raise OSError(f"it is larger than {LARGEST >> 20} MB")
        while more := os.pread(fd, status.st_size - self._offset, self._offset):
            whole = more[: more.rfind(b"\n") + 1]  # the rest may be a write under way
            if not whole:
                return
            self._offset += len(whole)
            for raw in whole.split(b"\n")[:-1]:
                self._take_line(raw)

    def _take_line(self, raw: bytes) -> None:
        self._line += 1
        if not raw:
            return
        try:
            entry = entries.parsed(raw)
            self._entries.setdefault(entry.id, entry)
            self._current = None
        except ValueError as error:
            if len(self._problems) < MOST_PROBLEMS:
                self._problems.append(f"line {self._line:,} of {NAME} is passed over: {error}.")


def _current(known: list[Entry]) -> dict[str, dict[str, Entry]]:
    """Kind -> name -> the last entry that is not undone and takes nothing away."""
    undone: set[str] = set()
    for entry in reversed(known):  # an undo that is itself undone undoes nothing
        if entry.id not in undone:
            undone.update(entry.undoes)
    holding: dict[str, dict[str, Entry]] = {}
    for entry in known:
        if entry.id not in undone and not entry.undoes:
            holding.setdefault(entry.kind, {})[entry.name] = entry
    return {
        kind: {name: entry for name, entry in named.items() if entry.value is not None}
        for kind, named in holding.items()
    }


def _author(author: str) -> str:
    return author[:LONGEST_AUTHOR] or user()
