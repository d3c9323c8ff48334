"""The logs of one process, in the folder of its run.

The drain appends encoded blocks here. The first file is opened when there is something to write,
the next one when a file has grown, and a removed folder is restored. `append` raises OSError when
the disk does not take a block: the drain keeps the block and tries again. A file whose handle is
dead (a network disk came back as another one) or that may not grow is left, and the next one is
begun.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.store.log import block, open_spans
from rollscope.store.log.files import file_name
from rollscope.store.log.liveness import BEAT_SECONDS
from rollscope.store.log.scan import block_numbers
from rollscope.store.log.writer import LogWriter, SyncFailed

ROTATE = 64 << 20  # bytes of a log before the next one begins
SYNC_SECONDS = 3.0
LOOK_SECONDS = 0.2  # how often the file is checked to be still there
PATIENT_TRIES = 3  # failed writes in a row before a file that may heal is left for the next one
UNREADABLE_TRIES = 10  # to read back a file that was given up
# Errors of one file, not of the disk: waiting does not help, another file does.
DEAD_HANDLE = frozenset({errno.ESTALE, errno.EBADF, errno.EFBIG, errno.ENXIO})


def _nothing() -> None:
    return


class LogFiles:
    """Appends blocks to this writer's logs, one file after the other."""

    def __init__(self, folder: str | os.PathLike[str], writer: str, facts: Mapping[str, Any], attempt: int = 1) -> None:
        self.folder = Path(folder)
        self.prepare: Callable[[], None] = _nothing  # called before a file is made; may raise OSError
        self.on_rotate: Callable[[], None] = _nothing
        self.on_removed: Callable[[], None] = _nothing
        self.on_doubtful: Callable[[int], None] = lambda _: None  # bytes that may be lost with a dead file
        self._writer = writer
        self._facts = {"attempt": attempt, **facts}  # in the first block of every log
        self._log: LogWriter | None = None
        self._seq = 0
        self._failures = 0  # in a row, of the file that is open
        self._late: OSError | None = None  # of a file that had grown: raised when no block is at stake
        self._left: list[LogWriter] = []  # files that were given up, with blocks that may be missing
        self._unreadable = 0  # times in a row that such a file could not be read
        self._synced = self._looked = self._beat = time.monotonic()

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write blocks in order. Returns how many are in the file now."""
        log = self._open()
        try:
            written = log.append(payloads)
        except OSError as error:
            self._failed(log, error)
            raise
        self._failures = 0
        if log.size >= ROTATE:
            self._rotate()
        return written

    def _rotate(self) -> None:
        try:
            self.close()
            self.on_rotate()
        except OSError as error:  # the block is in the file: who raised it here would write it twice
            self._late = error

    def _failed(self, log: LogWriter, error: OSError) -> None:
        """Leave a file that cannot be written any more; the next `append` begins another."""
        self._failures += 1
        patient = error.errno == errno.EIO and self._failures < PATIENT_TRIES
        if error.errno not in DEAD_HANDLE and (error.errno != errno.EIO or patient):
            return  # a full disk, say: the same file goes on when there is room
        self._log, self._failures = None, 0
        self._left.append(log)

    def tend(self) -> None:
        """Now and then, sync the file, renew its lease, and check that it is still there."""
        if self._late is not None:
            late, self._late = self._late, None
            raise late
        if self._log is None:
            return
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            self._check(self._log, self._log.is_gone)
        if now - self._beat > BEAT_SECONDS:
            self._beat = now
            self._open().touch()
        if now - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Wait until the disk has every block under its name. Raises OSError if it has not."""
        if self._log is None and not self._left:
            return
        self._synced = time.monotonic()
        log = self._open()
        log = self._check(log, log.is_gone_now)
        try:
            log.sync()
        except OSError as error:
            if error.errno not in DEAD_HANDLE:
                raise
            self._failed(log, error)
            self._open().sync()  # what only the dead handle had is in the next file

    def _check(self, log: LogWriter, is_gone: Callable[[], bool]) -> LogWriter:
        """The log, restored if somebody removed or replaced it; if its handle is dead, the next."""
        try:
            if is_gone():
                self._make_folder()
                log.restore()
                _sync_folder(self.folder)
                self.on_removed()
        except OSError as error:
            if error.errno not in DEAD_HANDLE:
                raise
            self._failed(log, error)
            return self._open()
        return log

    def _make_folder(self) -> None:
        new = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        for folder in new:
            _sync_folder(folder.parent)
        self.prepare()

    def _open(self) -> LogWriter:
        if self._log is None:
            self._make_folder()
            log = LogWriter(self.folder / file_name(self._writer, self._seq + 1))
            self._seq += 1
            try:
                log.append([block.meta("open", {"writer": self._writer, "seq": self._seq, **self._facts})])
                self._write_again(log)
            except OSError:  # every log begins with its writer: drop this file, the next one tries again
                log.abandon()
                os.unlink(log.path)
                raise
            self._log = log
            _sync_folder(self.folder)
        return self._log

    def _write_again(self, log: LogWriter) -> None:
        """Write blocks of given-up files that are not on the disk, as a new handle reads it.

        Raises OSError if a file cannot be read now: written twice would be worse than written late.
        """
        while self._left:
            before = self._left[0]
            missing = before.missing_from(self._present(before))
            if missing and log.append(missing) < len(missing):
                raise OSError(errno.EIO, "the blocks of a dead file could not all be written again", log.path)
            before.abandon()
            self._left.pop(0)

    def _present(self, log: LogWriter) -> Collection[int]:
        """The numbers of the blocks that a given-up file holds. Gives up on it after some tries."""
        try:
            present = block_numbers(log.path)
        except FileNotFoundError:
            present = set()
        except OSError:
            self._unreadable += 1
            if self._unreadable < UNREADABLE_TRIES:
                raise
            self.on_doubtful(sum(map(len, log.missing_from(()))))
            present = log.unsynced_numbers()
        self._unreadable = 0
        return present

    def name_open(self, spans: Sequence[dict[str, Any]]) -> None:
        """Name the spans of this writer that are open; raises OSError.

        A writer has a log, even if its first span has not ended.
        """
        if spans:
            self._open()
        open_spans.write(str(self.folder), self._writer, spans)

    def close(self) -> None:
        """Sync the log, mark its end and close it. Raises OSError."""
        if self._log is None and not self._left:
            return
        try:
            self.sync()
        except SyncFailed:  # said once: the file ends all the same
            self._end()
            raise
        self._end()

    def _end(self) -> None:
        log, self._log = self._open(), None
        with contextlib.suppress(OSError):  # a log without its end is readable, and sealed later
            log.append([block.meta("end", {})])
        with contextlib.suppress(OSError):  # the end is all that this sync can lose
            log.close()

    def abandon(self) -> None:
        """Close the file without writing to it: it belongs to another process."""
        if self._log is not None:
            self._log.abandon()
            self._log = None


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that a power loss does not take the name of a file on the disk."""
    with contextlib.suppress(OSError):  # not every file system can
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
