"""The sink that is our store: one process's logs in the folder of its run.

It opens its first file when there is something to write, goes on to the next when one has grown, and puts a removed folder back. It
raises `OSError` when the disk will not take a block: who calls keeps the block and tries again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.sinks import Row
from rollscope.store.log import block
from rollscope.store.log.files import file_name
from rollscope.store.log.writer import LogWriter

ROTATE = 64 << 20
SYNC_SECONDS = 3.0
LOOK_SECONDS = 0.2  # how often it is checked that the file is still there


class StoreSink:
    def __init__(self, folder: str | os.PathLike[str], writer: str, facts: Mapping[str, Any], attempt: int = 1) -> None:
        self.folder = Path(folder)
        self.writer = writer
        self.facts = facts  # what the first block of every log says
        self.attempt = attempt
        self.prepare: Callable[[], None] = lambda: (
            None
        )  # called before a first file is made in the folder; may raise OSError
        self.on_rotate: Callable[[], None] = lambda: None
        self.on_removed: Callable[[], None] = lambda: None
        self.written = 0
        self._log: LogWriter | None = None
        self._seq = 0
        self._synced = self._looked = time.monotonic()

    def append(self, payloads: Sequence[bytes]) -> int:
        """Write blocks in order; how many are now in the file."""
        log = self._open()
        done = log.append(payloads)
        self.written += sum(map(len, payloads[:done]))
        if log.size >= ROTATE:
            self._end()
            self.on_rotate()
        return done

    def write(self, rows: Sequence[Row]) -> None:
        """Rows of any table but metrics, as other sinks take them."""
        tables: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            tables.setdefault(row.table, []).append({"step": row.step, "time_ns": row.time_ns, **row.data})
        for name, records in tables.items():
            self.append([block.table(name, records, {"attempt": self.attempt})])

    def tend(self) -> None:
        """Now and then: sync to the disk, and see whether the file is still where it was."""
        if self._log is None:
            return
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            if self._log.is_gone():
                self.folder.mkdir(parents=True, exist_ok=True)
                self.prepare()
                self._log.restore()
                self.on_removed()
        if now - self._synced > SYNC_SECONDS:
            self._synced = now
            self._log.sync()

    def _open(self) -> LogWriter:
        if self._log is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.prepare()
            log = LogWriter(self.folder / file_name(self.writer, self._seq + 1))
            self._seq += 1
            try:
                log.append(
                    [
                        block.meta(
                            "open", {"writer": self.writer, "seq": self._seq, "attempt": self.attempt, **self.facts}
                        )
                    ]
                )
            except OSError:  # a log must begin with who wrote it; try again with the next
                log.abandon()
                os.unlink(log.path)
                raise
            self._log = log
            _sync_folder(self.folder)
        return self._log

    def _end(self) -> None:
        if self._log is not None:
            log, self._log = self._log, None
            with contextlib.suppress(
                OSError
            ):  # without its end it is read all the same, and sealed once its process is gone
                log.append([block.meta("end", {})])
            log.close()

    def close(self) -> None:
        self._end()

    def abandon(self) -> None:
        if self._log is not None:
            self._log.abandon()
            self._log = None


def _sync_folder(folder: Path) -> None:
    """So that a power loss does not take the name of a file whose bytes are safe."""
    with contextlib.suppress(OSError):  # not every file system can
        at = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)
