"""What one target was told about one run: lines of JSON, each on the disk before it holds.

A notice is `queued`, then `sending`, then `sent`, `refused`, `unanswered` or `given up`; `passed`
is one that was over before anyone looked. The process that holds the lock of the file is the only
one that sends. A notice that a killed process left in `sending` may have arrived: it is not sent
again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rollscope.store import regular_file
from rollscope.store.log.only_one import OnlyOne

from .notice import Notice

FOLDER = "notices"
WAITING = ("queued", "failed")  # stages after which it is sent
MOST_BYTES = 16 << 20  # of a record that is read


@dataclass(frozen=True, slots=True)
class Entry:
    notice: Notice
    stage: str
    to: str
    why: str
    time_ns: int


class Ledger:
    """The record of one target in one run. `take` before anything else."""

    def __init__(self, run: str, fingerprint: str, to: str) -> None:
        self.path = os.path.join(run, FOLDER, f"{fingerprint}.jsonl")
        self.to = to
        self.entries: dict[str, Entry] = {}
        self._sender = OnlyOne(run, self.path)
        self._taken = False

    def take(self) -> bool:
        """Become the process that sends. False while another one is. Raises OSError."""
        if not self._taken:
            if not self._sender.take():
                return False
            self.entries = {entry.notice.id: entry for entry in entries(self.path)}
            self._taken = True
            self._doubt_interrupted()
        return True

    def _doubt_interrupted(self) -> None:
        for entry in [entry for entry in self.entries.values() if entry.stage == "sending"]:
            self.write(entry.notice, "unanswered", "the process that sent it ended before an answer came")

    def write(self, notice: Notice, stage: str, why: str = "") -> None:
        """Append a line and wait until it is on the disk. Raises OSError."""
        entry = Entry(notice, stage, self.to, why, time.time_ns())
        row = {"stage": stage, "why": why, "to": self.to, "time_ns": entry.time_ns, "notice": notice.json()}
        line = json.dumps(row).encode() + b"\n"
        with open(self.path, "ab") as file:
            file.write(line if self._ends_whole(file.tell()) else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())
        self.entries[notice.id] = entry

    def _ends_whole(self, size: int) -> bool:
        """Does the file end with a whole line? A kill may have cut the last one."""
        if not size:
            return True
        with open(self.path, "rb") as file:
            file.seek(size - 1)
            return file.read(1) == b"\n"

    def waiting(self) -> list[Notice]:
        """Notices that were recorded and not sent, the oldest first."""
        return [entry.notice for entry in self.entries.values() if entry.stage in WAITING]

    def close(self) -> None:
        """Let another process send."""
        self._taken = False
        self._sender.close()


def entries(path: str) -> Iterator[Entry]:
    """Lines of a record in order; a line that cannot be read is passed over."""
    for line in regular_file.read(path, MOST_BYTES).splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row: dict[str, Any] = json.loads(line)
            yield Entry(Notice.from_json(row["notice"]), row["stage"], row["to"], row["why"], row["time_ns"])
