"""Append blocks to the log of one process, from one thread.

A write that the disk takes only in part is cut back to the last whole block and may be tried again,
so a block is in the file once or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Collection, Sequence

from . import frame, lock


class SyncFailed(OSError):
    """The disk accepted bytes and lost them. Network and full disks report it only on sync."""

    def __init__(self, error: OSError, bytes: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.bytes = bytes


UNSYNCED_BYTES = 32 << 20  # payloads kept until a sync has covered them; older ones are let go


class LogWriter:
    """Appends blocks to a new file and holds its lock. Only one thread may use it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o666)
        lock.hold(self._fd)
        self.size = 0
        self._salt = int.from_bytes(os.urandom(8), "little")
        self._number = 0
        self._synced = 0  # bytes that a sync has covered
        self._unsynced: deque[tuple[int, bytes]] = deque()  # block numbers and payloads after that
        self._unsynced_bytes = 0

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write blocks in order; return how many are now whole in the file.

        Re-raises the OSError only if no block was written.
        """
        done = 0
        for payload in payloads:
            try:
                self._write(frame.header(self._salt, self._number, payload), payload)
            except OSError:
                self._cut_back()
                if not done:
                    raise
                return done
            self.size += frame.HEADER.size + len(payload)
            self._keep(payload)
            self._number += 1
            done += 1
        return done

    def _write(self, head: bytes, payload: bytes) -> None:
        written = os.writev(self._fd, (head, payload))
        left = memoryview(head + payload)[written:] if written < len(head) + len(payload) else memoryview(b"")
        while left:
            left = left[os.write(self._fd, left) :]

    def _keep(self, payload: bytes) -> None:
        """Keep a payload until it is synced, so that it can be written again elsewhere."""
        self._unsynced.append((self._number, payload))
        self._unsynced_bytes += len(payload)
        while self._unsynced_bytes > UNSYNCED_BYTES:
            self._unsynced_bytes -= len(self._unsynced.popleft()[1])

    def _cut_back(self) -> None:
        with contextlib.suppress(OSError):  # if this fails too, a reader still finds the next whole block
            os.ftruncate(self._fd, self.size)

    def sync(self) -> None:
        """Wait until the disk has all bytes. Raises SyncFailed, once, with the bytes in doubt."""
        if self._synced < self.size:
            doubtful, self._synced = self.size - self._synced, self.size
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                raise SyncFailed(error, doubtful) from error
            self._unsynced.clear()
            self._unsynced_bytes = 0

    def touch(self) -> None:
        """Renew the lease: a log that is touched has a living writer."""
        with contextlib.suppress(OSError):
            os.utime(self._fd)

    def unsynced_numbers(self) -> set[int]:
        """The numbers of the blocks that no sync has covered and whose payloads are still known."""
        return {number for number, _ in self._unsynced}

    def missing_from(self, present: Collection[int]) -> list[bytes]:
        """The payloads that are not known to be on the disk and whose numbers are not in
        `present`.
        """
        return [payload for number, payload in self._unsynced if number not in present]

    def is_gone(self) -> bool:
        """True if the file was removed or replaced. Writes would still succeed, and be lost.

        Raises OSError if the handle is dead.
        """
        mine = os.fstat(self._fd).st_ino
        try:
            return os.stat(self.path).st_ino != mine
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def is_gone_now(self) -> bool:
        """The same, but asked of the disk itself: a network disk remembers the names of a folder
        for up to a minute, and looks again when the folder is opened.
        """
        with contextlib.suppress(OSError):
            os.close(os.open(os.path.dirname(self.path) or ".", os.O_RDONLY | os.O_CLOEXEC))
        return self.is_gone()

    def restore(self) -> None:
        """Put the bytes that the open file still holds back under its name.

        What stands there now is a copy that somebody made: this writer alone knows the whole.
        """
        aside = f"{self.path}.restored"
        new = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            lock.hold(new)
            self._copy_to(new)
            os.replace(aside, self.path)
        except OSError:
            os.close(new)
            os.unlink(aside)
            raise
        os.close(self._fd)
        self._fd, self._synced = new, 0

    def _copy_to(self, new: int) -> None:
        at = 0
        while at < self.size:
            piece = os.pread(self._fd, min(self.size - at, 1 << 20), at)
            if not piece:
                raise OSError(errno.EIO, f"the open file has {at} of the {self.size} bytes that were written to it")
            at += os.write(new, piece)

    def close(self) -> None:
        """Sync and close. An error of the file system is raised here at the latest."""
        if self._fd < 0:
            return
        try:
            self.sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close without syncing, as a forked child does with its parent's file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
