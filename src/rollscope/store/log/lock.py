"""The lock that a writer holds on its log for as long as it may append to it.

It belongs to the open file, so it works between containers and PID namespaces of one kernel, and
over network file systems that have a lock manager. It ends with the process, however that ends.
A file system without locks never stops a writer; readers then go by the lease.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from enum import Enum

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class Lock(Enum):
    """What an attempt to take a log's lock shows."""

    TAKEN = "no writer has the file open"
    HELD = "a writer has the file open"
    UNSUPPORTED = "the file system has no locks"


def hold(fd: int) -> None:
    """Take the lock of an open log. Ignored where the file system has none.

    Who looks at the log has the lock for a moment, so it is tried for a second.
    """
    until = time.monotonic() + 1
    while _take(fd) is Lock.HELD and time.monotonic() < until:
        time.sleep(0.005)


@contextlib.contextmanager
def taking(path: str) -> Iterator[Lock]:
    """Try to take the lock of a log, and hold it inside the `with` block."""
    fd = _open(path)
    try:
        yield _take(fd)
    finally:
        os.close(fd)  # gives the lock back


def look(path: str) -> Lock:
    """Whether a writer holds the log now. Those who look at once do not see each other."""
    fd = _open(path)
    try:
        return _take(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _open(path: str) -> int:
    """Some network file systems lock only files that are open for writing."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _take(fd: int, kind: int = fcntl.LOCK_EX) -> Lock:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        return Lock.HELD if error.errno in _HELD else Lock.UNSUPPORTED
    return Lock.TAKEN
