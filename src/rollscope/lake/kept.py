"""Connections of this process that nobody uses now, kept because making one costs much.

A forked child keeps none: a session of PostgreSQL belongs to the process that began it.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    def idle_seconds(self) -> float:
        return time.monotonic() - self.used


_idle: dict[Key, list[Kept]] = {}
_lock = threading.Lock()


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
    for some in _idle.values():
        for one in some:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one.connection))  # so nothing closes it
    _idle.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
