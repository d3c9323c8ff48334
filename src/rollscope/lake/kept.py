"""Connections of this process that nobody uses now, kept because making one costs much.

A catalogue in a file is used by one thread at a time, and one hands it on to the next.
A forked child keeps none: a session of PostgreSQL belongs to the process that began it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .place import Place

if TYPE_CHECKING:
    import duckdb

MOST = 4  # that are kept for one lake
Key = tuple[object, ...]


@dataclass(slots=True)
class Kept:
    """A connection, whether the lake is attached to it, and when it was last given back."""

    connection: duckdb.DuckDBPyConnection
    is_attached: bool = False
    used: float = float("-inf")
    attached: float = float("-inf")  # when the lake was

    def idle_seconds(self) -> float:
        return time.monotonic() - self.used


_idle: dict[Key, list[Kept]] = {}
_lock = threading.Lock()
_turns: dict[str, threading.RLock] = {}  # file -> whose turn it is: DuckDB opens a file once per process
_waiting: Counter[str] = Counter()  # file -> threads that want it
_handed_on: dict[str, tuple[Key, Kept]] = {}  # file -> a connection that has it open, and its key


@contextlib.contextmanager
def alone(place: Place) -> Iterator[None]:
    """Use a catalogue in a file as the only thread of this process; any other as one of many."""
    if not place.is_embedded:
        yield
        return
    file = _file(place)
    with _lock:
        turn = _turns.setdefault(file, threading.RLock())
        _waiting[file] += 1
    try:
        turn.acquire()
    finally:
        with _lock:
            _waiting[file] -= 1
    try:
        yield
    finally:
        turn.release()


def _file(place: Place) -> str:
    return os.path.realpath(place.catalog_path())


def is_wanted(place: Place) -> bool:
    """True if a thread waits for this catalogue: it takes what is handed on, or closes it."""
    return place.is_embedded and _waiting[_file(place)] > 0


def hand_on(place: Place, key: Key, one: Kept) -> None:
    _handed_on[_file(place)] = key, one


def handed_on(place: Place) -> tuple[Key, Kept] | None:
    return _handed_on.pop(_file(place), None) if place.is_embedded else None


def take(key: Key) -> Kept | None:
    """The one that was used last; None if all are in use."""
    with _lock:
        found = _idle.get(key)
        return found.pop() if found else None


def give_back(key: Key, one: Kept) -> None:
    one.used = time.monotonic()
    with _lock:
        found = _idle.setdefault(key, [])
        found.append(one)
        spare = found.pop(0) if len(found) > MOST else None
    if spare is not None:
        spare.connection.close()


def _forget() -> None:
    """In a forked child: to close the parent's sessions would end them for the parent, too."""
    global _lock
    for one in [*(one for some in _idle.values() for one in some), *(one for _, one in _handed_on.values())]:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one.connection))  # so nothing closes it
    _idle.clear()
    _handed_on.clear()
    _waiting.clear()
    _turns.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
