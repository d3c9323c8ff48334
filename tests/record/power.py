"""A disk that loses its power: a log of all writes and syncs, replayed up to any instant.

`Journal` notes what a process does to the files below a folder. `after_power_loss` makes a folder
as a disk may hold it after the first n entries: what was synced is there; of everything later each
page of 4 kB is there or not, by chance. Names (files made, renamed, removed) come back in the order
in which they were given, up to some instant after the last sync of a folder, as journaling file
systems do it.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.store.log.block import Metrics
from rollscope.store.log.scan import scan

PAGE = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. `data` is what was written, or the whole content at a sync."""

    what: str  # make, write, cut, sync, sync folder, rename, remove, say
    path: str
    data: bytes = b""
    at: int = 0
    to: str = ""
    time_ns: int = field(default_factory=time.time_ns)


class Journal:
    """Notes every change below a folder, in its order, by standing in for functions of `os`."""

    def __init__(self, root: Path) -> None:
        self.root, self.entries = str(root), list[Entry]()
        self._guard = threading.RLock()
        self._real = {name: getattr(os, name) for name in STANDS_IN}

    def say(self, text: str) -> None:
        """Note something that the program knows at this instant."""
        with self._guard:
            self.entries.append(Entry("say", "", text.encode()))

    def __enter__(self) -> Journal:
        for name, make in STANDS_IN.items():
            setattr(os, name, make(self, self._real[name]))
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def note(self, call: Callable[[], Any], *entries: Callable[[Any], Entry | None]) -> Any:
        """Do it and note it, so that no other thread comes between."""
        with self._guard:
            result = call()
            self.entries += [entry for make in entries if (entry := make(result)) is not None]
            return result

    def path_of(self, fd: int) -> str:
        path = os.readlink(f"/proc/self/fd/{fd}")
        return path if path.startswith(self.root) else ""

    def inside(self, path: Any) -> str:
        full = os.path.abspath(os.fspath(path))
        return full if full.startswith(self.root) else ""


def _opened(journal: Journal, real: Any) -> Any:
    def stand_in(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        inside = journal.inside(path)
        is_new = bool(inside and flags & os.O_CREAT and not os.path.exists(path))
        return journal.note(
            lambda: real(path, flags, *rest, **more), lambda _: Entry("make", inside) if is_new else None
        )

    return stand_in


def _written(journal: Journal, real: Any) -> Any:
    def stand_in(fd: int, data: Any) -> int:
        path = journal.path_of(fd)
        if not path:
            return real(fd, data)
        raw = b"".join(bytes(part) for part in data) if isinstance(data, (tuple, list)) else bytes(data)
        size = os.fstat(fd).st_size  # logs are appended to
        return journal.note(lambda: real(fd, data), lambda count: Entry("write", path, raw[:count], size))

    return stand_in


def _cut(journal: Journal, real: Any) -> Any:
    def stand_in(fd: int, length: int) -> None:
        path = journal.path_of(fd)
        journal.note(lambda: real(fd, length), lambda _: Entry("cut", path, at=length) if path else None)

    return stand_in


def _synced(journal: Journal, real: Any) -> Any:
    def entry(fd: int) -> Entry | None:
        path = journal.path_of(fd)
        if not path:
            return None
        return Entry("sync folder", path) if os.path.isdir(path) else Entry("sync", path, Path(path).read_bytes())

    return lambda fd: journal.note(lambda: real(fd), lambda _: entry(fd))


def _renamed(journal: Journal, real: Any) -> Any:
    def stand_in(source: Any, target: Any) -> None:
        old, new = journal.inside(source), journal.inside(target)
        journal.note(lambda: real(source, target), lambda _: Entry("rename", old, to=new) if old else None)

    return stand_in


def _removed(journal: Journal, real: Any) -> Any:
    def stand_in(path: Any, **more: Any) -> None:
        inside = "" if more.get("dir_fd") is not None else journal.inside(path)
        journal.note(lambda: real(path, **more), lambda _: Entry("remove", inside) if inside else None)

    return stand_in


STANDS_IN: dict[str, Callable[[Journal, Any], Any]] = {
    "open": _opened,
    "write": _written,
    "writev": _written,
    "ftruncate": _cut,
    "unlink": _removed,
    "fsync": _synced,
    "fdatasync": _synced,
    "rename": _renamed,
    "replace": _renamed,
}


@dataclass(slots=True)
class _File:
    """The content of a file: what is surely on the disk, and what may be."""

    durable: bytes = b""
    later: list[Entry] = field(default_factory=list)

    def content(self, dice: random.Random) -> bytes:
        kept = bytearray(self.durable)
        for entry in self.later:
            if entry.what == "cut":
                del kept[entry.at :]
                continue
            for start in range(0, len(entry.data), PAGE):
                if dice.random() < 0.5:
                    at, part = entry.at + start, entry.data[start : start + PAGE]
                    kept.extend(bytes(max(0, at - len(kept))))
                    kept[at : at + len(part)] = part
        return bytes(kept)


def after_power_loss(journal: Journal, count: int, target: Path, dice: random.Random) -> None:
    """Make `target` as the disk may hold the journal's folder after its first `count` entries."""
    entries = journal.entries[:count]
    last = max((i for i, entry in enumerate(entries) if entry.what == "sync folder"), default=-1)
    names_until = dice.randint(last + 1, len(entries))
    names: dict[str, _File] = {}
    files: dict[str, _File] = {}  # by the name that a file has for the process
    for i, entry in enumerate(entries):
        _happen(entry, files)
        if i < names_until and entry.what in ("make", "rename", "remove", "sync"):
            names = dict(files)
    for path, file in names.items():
        place = target / os.path.relpath(path, journal.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content(dice))


def _happen(entry: Entry, files: dict[str, _File]) -> None:
    if entry.what == "make":
        files[entry.path] = _File()
    elif entry.what in ("write", "cut"):
        files.setdefault(entry.path, _File()).later.append(entry)
    elif entry.what == "sync":
        file = files.setdefault(entry.path, _File())
        file.durable, file.later = entry.data, []
    elif entry.what == "remove":
        files.pop(entry.path, None)
    elif entry.what == "rename":  # a file, or a folder with all that is in it
        inside = {name for name in files if name == entry.path or name.startswith(entry.path + os.sep)}
        for name in sorted(inside):
            files[entry.to + name[len(entry.path) :]] = files.pop(name)


def steps_on_disk(run: Path) -> set[int]:
    """The steps that a reader finds, each once and with the value that was logged at it."""
    if not run.is_dir() or run.name not in rs.open(run.parent).ids():
        return set()
    reader = rs.open(run.parent).run(run.name)
    if "m0" not in reader.metrics()["name"]:
        return set()
    rows = reader.sql("select step, value, count(*) as n from metrics where name = 'm0' group by all")
    assert (rows["n"] == 1).all() and (rows["step"] == rows["value"]).all()
    return set(rows["step"].tolist())


def surely_on_disk(journal: Journal, count: int, scratch: Path) -> set[int]:
    """The steps in the content that a log had at its last sync, over all logs."""
    synced = {e.path: e.data for e in journal.entries[:count] if e.what == "sync" and e.path.endswith(".log")}
    steps: set[int] = set()
    for data in synced.values():
        (scratch / "synced.log").write_bytes(data)
        blocks = scan(scratch / "synced.log").blocks
        steps |= {step for block in blocks if isinstance(block, Metrics) for step in block.step.tolist()}
    return steps
