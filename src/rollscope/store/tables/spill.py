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
    try:
        path, lock = _made()
    except OSError:
        yield ""
        return
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _made() -> tuple[str, int]:
    """A new folder, and its locked file."""
    path = tempfile.mkdtemp(prefix=PREFIX)
    lock = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if LOCKS:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path, lock
    except OSError:  # a sweep is looking at it, or the disk has no locks
        os.close(lock)
        shutil.rmtree(path, ignore_errors=True)
        raise


def sweep() -> None:
    """Remove the folders of this user's processes that are gone."""
    if not LOCKS:
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left_over(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_over(entry: os.DirEntry[str]) -> bool:
    """True if no process holds the folder's lock."""
    try:
        about = entry.stat(follow_symlinks=False)
        if about.st_uid != os.getuid() or not entry.is_dir(follow_symlinks=False):
            return False
        lock = os.open(os.path.join(entry.path, LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - about.st_mtime > NEW_SECONDS
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
