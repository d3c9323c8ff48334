"""Folders that DuckDB spills to. They never outlive their process for long, however it ends.

Each folder has a locked file. The system drops the lock with the process, so the next process that
needs a folder knows which ones are left over, and removes them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl

    LOCKS = True
except ImportError:  # Windows: there a folder is removed by its own process alone
    LOCKS = False

PREFIX = "rollscope-spill-"
LOCK = "lock"
TRIES = 5  # to make a folder: a sweep may take one that is not locked yet
NEW_SECONDS = 60.0  # a folder without its lock file may be one that is being made
_swept: set[str] = set()  # places where this process has looked for folders that are left over


@contextmanager
def folder() -> Iterator[str]:
    """A private folder, removed afterwards.

    "" if none can be made: then a query that needs more memory fails.
    """
    if (place := tempfile.gettempdir()) not in _swept:
        _swept.add(place)
        sweep()
    made = next((made for _ in range(TRIES) if (made := _made()) is not None), None)
    if made is None:
        yield ""
        return
    path, lock = made
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _made() -> tuple[str, int] | None:
    """A new folder, and its locked file; None if a sweep took it before it was locked."""
    lock = -1
    try:
        path = tempfile.mkdtemp(prefix=PREFIX)
        lock = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if LOCKS:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(os.path.join(path, LOCK))  # still there, and nobody removes it from now on
        return path, lock
    except OSError:  # a sweep is looking at it, the disk is full, or it has no locks
        if lock >= 0:
            os.close(lock)
            shutil.rmtree(path, ignore_errors=True)
        return None


def sweep() -> None:
    """Remove the folders of this user's processes that are gone."""
    if not LOCKS:
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                _sweep(entry)


def _sweep(entry: os.DirEntry[str]) -> None:
    """Remove a folder if no process holds its lock. This one holds it meanwhile."""
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:  # another process removed it meanwhile
        return
    if about.st_uid != os.getuid() or not entry.is_dir(follow_symlinks=False):
        return
    try:
        lock = os.open(os.path.join(entry.path, LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if time.time() - about.st_mtime > NEW_SECONDS:
            shutil.rmtree(entry.path, ignore_errors=True)
        return
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path, ignore_errors=True)
    except OSError:  # its process lives
        return
    finally:
        os.close(lock)
