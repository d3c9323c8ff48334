"""Append lines to the project log so that nobody's are lost.

A file lock lets one writer append at a time, a single write ends each line, and the disk has the
bytes before the call returns. If the disk is full, what was written of the lines is taken back and
the caller hears of it. A writer that was killed in the middle of a line costs that line alone: the
next one begins a new line. On a file system without locks appends still do not mix.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator

from rollscope.errors import CannotWrite

WAIT_SECONDS = 10.0  # for another writer, which needs milliseconds
LOOK_SECONDS = 0.005
NEWLINE = b"\n"


def append(path: str, lines: Callable[[], bytes]) -> None:
    """Append what `lines()` returns; it is called once no other writer can append.

    Raises CannotWrite if the lines could not be kept whole.
    """
    try:
        with _opened(path) as fd, _locked(fd) as locked:
            _write(fd, lines(), locked)
    except OSError as error:
        raise CannotWrite(
            f"nothing was written to {path}: {error.strerror or error}. Is the folder writable, and the disk not full?"
        ) from error


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """The log, open for appending. A link or a pipe in its place is refused."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        yield fd
    finally:
        os.close(fd)  # gives the lock back


@contextlib.contextmanager
def _locked(fd: int) -> Iterator[bool]:
    """Hold the lock of an open file; False inside if the file system has none."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
                yield False
                return
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, f"another process has held it for {WAIT_SECONDS:g} s") from None
        time.sleep(LOOK_SECONDS)
    yield True


def _write(fd: int, lines: bytes, locked: bool) -> None:
    size = os.fstat(fd).st_size
    torn = size > 0 and os.pread(fd, 1, size - 1) != NEWLINE
    try:
        _write_all(fd, (NEWLINE if torn else b"") + lines)
        os.fsync(fd)
    except OSError:
        if locked:  # nobody else can have appended meanwhile
            os.ftruncate(fd, size)
        raise


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
