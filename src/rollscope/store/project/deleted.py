"""The bin: a run that is deleted moves to `RUNS/.bin/PLACE/RUN`, and comes back, or goes for good.

A move is one rename, so a run is in the list or in the bin, whatever happens meanwhile. The folders
are the truth; the project log adds who deleted a run, and when. A run whose writer may still be
alive is refused.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from rollscope.errors import BadInput, CannotWrite, NotFound, nearest
from rollscope.store.listing.entries import BIN
from rollscope.store.live.tail import Tail
from rollscope.store.log import liveness

from .log import Change, ProjectLog


class Reader(Protocol):
    """What deleting asks of a run's reader."""

    @property
    def path(self) -> str: ...
    def refresh(self) -> bool: ...
    def logs(self) -> list[Tail]: ...


Reading = Callable[[str], AbstractContextManager[Reader]]


@dataclass(frozen=True, slots=True)
class Deleted:
    """A run in the bin."""

    id: str
    place: str  # the name of its folder in the bin
    author: str  # empty if the log does not say
    time_ns: int

    def shape(self) -> dict[str, Any]:
        return {"id": self.id, "author": self.author, "time_ns": self.time_ns}


def delete(log: ProjectLog, ids: Sequence[str], reading: Reading, author: str = "") -> None:
    """Move runs to the bin. `reading(id)` opens a run. If one of them is alive, none is moved."""
    for id in dict.fromkeys(ids):
        with reading(id) as run:
            _check_over(log, id, run)
    for id in dict.fromkeys(ids):
        with reading(id) as run:
            place = secrets.token_hex(4)
            _move(run.path, os.path.join(log.root, BIN, place, id))
        log.append_all([Change("bin", id, {"folder": place})], author)


def _check_over(log: ProjectLog, id: str, run: Reader) -> None:
    """Raise an error if a run cannot be moved: it is the folder itself, or a process may write."""
    if os.path.abspath(run.path) == os.path.abspath(log.root):
        raise BadInput(f"the run {id!r} is the folder that is open: open the folder above it to delete it")
    run.refresh()
    if any(not tail.closed and not liveness.is_over(tail.path, tail.facts) for tail in run.logs()):
        raise CannotWrite(f"the run {id!r} is alive: a process may still write to it. Stop that first.")


def deleted(log: ProjectLog) -> list[Deleted]:
    """The runs in the bin, the one that was deleted last first."""
    said = log.holding("bin")
    found = []
    for place in _listed(os.path.join(log.root, BIN)):
        for id in _listed(os.path.join(log.root, BIN, place)):
            if not log.shows(os.path.join(log.root, BIN, place, id)):
                continue
            entry = said.get(id)
            ours = entry is not None and entry.value.get("folder") == place
            time_ns = entry.time_ns if entry is not None and ours else _changed_ns(log, place)
            found.append(Deleted(id, place, entry.author if entry is not None and ours else "", time_ns))
    return sorted(found, key=lambda run: (-run.time_ns, run.id))


def restore(log: ProjectLog, ids: Sequence[str], author: str = "") -> None:
    """Bring runs back from the bin. A newer run of the same id is not replaced."""
    for run in _chosen(log, ids):
        target = os.path.join(log.root, run.id)
        if os.path.lexists(target):
            raise CannotWrite(f"the run {run.id!r} cannot come back: another run has its id now. Move that one first.")
        _move(os.path.join(log.root, BIN, run.place, run.id), target)
        _remove_folder(log, run.place)
        log.append_all([Change("bin", run.id, None)], author)


def remove(log: ProjectLog, ids: Sequence[str], author: str = "") -> None:
    """Remove runs in the bin from the disk, for good."""
    for run in _chosen(log, ids):
        path = os.path.join(log.root, BIN, run.place, run.id)
        try:
            os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)
        except OSError as error:
            raise CannotWrite(f"the run {run.id!r} could not be removed: {error.strerror or error}") from error
        _remove_folder(log, run.place)
        if all(other.id != run.id for other in deleted(log)):
            log.append_all([Change("bin", run.id, None)], author)


def _chosen(log: ProjectLog, ids: Sequence[str]) -> list[Deleted]:
    """The runs of these ids in the bin; of several with one id the last one."""
    there: dict[str, Deleted] = {}
    for run in deleted(log):
        there.setdefault(run.id, run)
    for id in ids:
        if id not in there:
            hint = nearest(id, there) or (f" It holds {', '.join(list(there)[:5])}." if there else " It is empty.")
            raise NotFound(f"the run {id[:80]!r} is not in the bin.{hint}")
    return [there[id] for id in dict.fromkeys(ids)]


def _move(source: str, target: str) -> None:
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(source, target)
    except OSError as error:
        why = error.strerror or error
        raise CannotWrite(f"{source} could not be moved to {target}: {why}. Is the folder writable?") from error


def _remove_folder(log: ProjectLog, place: str) -> None:
    with contextlib.suppress(OSError):  # it holds something else, or is gone
        os.rmdir(os.path.join(log.root, BIN, place))


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(entry.name for entry in found if entry.is_dir())
    except OSError:
        return []


def _changed_ns(log: ProjectLog, place: str) -> int:
    try:
        return os.stat(os.path.join(log.root, BIN, place)).st_mtime_ns
    except OSError:
        return 0
