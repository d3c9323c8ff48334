"""The logs of one process, in the folder of its run.

The drain appends encoded blocks here. The first file is opened when there is something to write,
the next one when a file has grown, and a removed folder is restored. `append` raises OSError when
the disk does not take a block: the drain keeps the block and tries again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.store.log import block
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter

ROTATE = 64 << 20  # bytes of a log before the next one begins
SYNC_SECONDS = 3.0
LOOK_SECONDS = 0.2  # how often the file is checked to be still there


def _nothing() -> None:
    return


class LogFiles:
    """Appends blocks to this writer's logs, one file after the other."""

    def __init__(self, folder: str | os.PathLike[str], writer: str, facts: Mapping[str, Any], attempt: int = 1) -> None:
        self.folder = Path(folder)
        self.prepare: Callable[[], None] = _nothing  # called before a file is made; may raise OSError
        self.on_rotate: Callable[[], None] = _nothing
        self.on_removed: Callable[[], None] = _nothing
        self._writer = writer
        self._facts = {"attempt": attempt, **facts}  # in the first block of every log
        self._log: LogWriter | None = None
        self._seq = 0
        self._synced = self._looked = time.monotonic()

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write blocks in order. Returns how many are in the file now."""
        log = self._open()
        written = log.append(payloads)
        if log.size >= ROTATE:
            self.close()
            self.on_rotate()
        return written

    def tend(self) -> None:
        """Now and then, sync the file to the disk and check that it is still there."""
        if self._log is None:
            return
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            if self._log.is_gone():
                self._make_folder()
                self._log.restore()
                self.on_removed()
        if now - self._synced > SYNC_SECONDS:
            self._synced = now
            self._log.sync()

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.prepare()

    def _open(self) -> LogWriter:
        if self._log is None:
            self._make_folder()
            log = LogWriter(self.folder / file_name(self._writer, self._seq + 1))
            self._seq += 1
            try:
                log.append([block.meta("open", {"writer": self._writer, "seq": self._seq, **self._facts})])
            except OSError:  # every log begins with its writer: drop this file, the next one tries again
                log.abandon()
                os.unlink(log.path)
                raise
            self._log = log
            _sync_folder(self.folder)
        return self._log

    def close(self) -> None:
        """Mark the end of the log and close it."""
        if self._log is not None:
            log, self._log = self._log, None
            with contextlib.suppress(OSError):  # a log without its end is readable, and sealed once its process is gone
                log.append([block.meta("end", {})])
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
