"""Rows of runs that are over, kept in a file beside the runs, so that a list need not open them.

The file is a help and never the truth: a row is used only if the marks of its run's folder are what
they were when the row was read, and a line that fails its checksum is no line. A missing, damaged
or older file is made again. In a folder that cannot be written, and on a full disk, there is none,
and a list takes longer. Any number of processes may read and append at once: each appends whole
lines, and a line that is torn costs itself alone.

A run that others cannot read is left out, since the file can be read by all who can read the root.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import time
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

from rollscope import __version__
from rollscope.store import regular_file
from rollscope.store.log import liveness

from .entries import HOME, Entry, Marks, log_marks

FORMAT = f"1 {__version__}"  # what a row holds depends on the version that made it
MOST_BYTES = 512 << 20
FEWEST = 50  # rows: a shorter list is quick without an index
SETTLED_NS = 2 * 10**9  # a change within one tick of the folder's clock would not show
BATCH = 500
SLACK = 1000  # lines of replaced rows; with more, the file is written again
Logs = dict[str, dict[str, Any] | None]  # name of a log -> facts of its writer, or None once it was closed


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a run, with its state, and the marks its folder had when it was read."""

    marks: Marks
    log_marks: Marks
    logs: Logs
    value: dict[str, Any]

    @property
    def may_grow(self) -> bool:
        """True if a writer has not closed its log: it was killed, or hangs and may go on."""
        return any(facts is not None for facts in self.logs.values())

    def without_value(self) -> Row:
        """The marks alone: enough to tell whether the row is current."""
        return replace(self, value={"state": self.value["state"]})


@dataclass(slots=True)
class Index:
    """The rows of one kind, such as `listed`, for the runs of one root."""

    root: str
    kind: str
    _lines: dict[bytes, bytes] | None = None  # id -> its line in the file; parsed when it is asked for
    _new: dict[bytes, bytes] = field(default_factory=dict)
    _length: int = 0  # of the file, in lines of replaced rows too

    @property
    def path(self) -> str:
        return os.path.join(self.root, HOME, f"{self.kind}.jsonl")

    def get(self, entry: Entry) -> Row | None:
        """The row of a run if its folder is as it was, and none of its writers is alive again."""
        key = _key(entry.id)
        line = self._new.get(key) or self._known().get(key)
        row = None if line is None else _parsed(line)
        return row if row is not None and is_current(row, entry) else None

    def add(self, entry: Entry, row: Row) -> None:
        """Keep a row. Rows are written by `save()`, and in batches, since a list may be stopped."""
        if entry.public:
            self._new[_key(entry.id)] = _line(entry.id, row)
        if len(self._new) >= BATCH:
            self.save()

    def save(self) -> None:
        """Append the new rows to the file. If most lines are out of date, write the whole file."""
        if not self._new:
            return
        known = self._known() | self._new
        if len(known) < FEWEST:
            return
        with contextlib.suppress(OSError):
            if self._length + len(self._new) > 2 * len(known) + SLACK:
                self._replace(known)
            else:
                _append(self.path, b"\n" + b"\n".join(self._new.values()) + b"\n")  # the last line may be torn
                self._length += len(self._new)
        self._lines, self._new = known, {}

    def _replace(self, lines: dict[bytes, bytes]) -> None:
        aside = f"{self.path}.{secrets.token_hex(4)}"
        try:
            _append(aside, b"\n".join(lines.values()) + b"\n")
            os.replace(aside, self.path)
            self._length = len(lines)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(aside)

    def _known(self) -> dict[bytes, bytes]:
        if self._lines is None:
            self._lines = self._load()
        return self._lines

    def _load(self) -> dict[bytes, bytes]:
        """The newest sound line of each run."""
        try:
            lines = regular_file.read(self.path, MOST_BYTES).split(b"\n")
        except OSError:
            return {}
        self._length = len(lines)
        return {line[9:].partition(b"\t")[0]: line for line in lines if line[:8] == b"%08x" % zlib.crc32(line[9:])}


def is_current(row: Row, entry: Entry) -> bool:
    """True if nothing in a run's folder has changed since its row was read."""
    if entry.problem or row.marks != entry.marks:
        return False
    try:
        if row.logs and log_marks(entry.path, list(row.logs)) != row.log_marks:
            return False
    except OSError:
        return False
    return row.value.get("state") != "killed" or not _is_alive(row, entry)


def _is_alive(row: Row, entry: Entry) -> bool:
    """True if a writer of the run can be seen from here. The reader of the row may not have."""
    logs = [(os.path.join(entry.path, name), facts) for name, facts in row.logs.items() if facts is not None]
    return any(liveness.is_alive(path, facts) for path, facts in logs)


def is_settled(entry: Entry, log_marks: Marks) -> bool:
    """True if the newest change of a folder is old enough for its marks to be trusted."""
    times = [*entry.marks[:2], *log_marks[1::2]]
    return max(times) + SETTLED_NS < time.time_ns()


def _key(id: str) -> bytes:
    return json.dumps(id).encode()


def _line(id: str, row: Row) -> bytes:
    """Checksum, id and row in ASCII, so that neither a tab nor the end of a line is inside."""
    fields = [FORMAT, row.marks, row.log_marks, row.logs, row.value]
    body = b"%s\t%s" % (_key(id), json.dumps(fields, separators=(",", ":")).encode())
    return b"%08x %s" % (zlib.crc32(body), body)


def _parsed(line: bytes) -> Row | None:
    """The row in a line; None if another version wrote it, or anything but a row is there."""
    try:
        format_, marks, marks_of_logs, logs, value = regular_file.parsed(line.partition(b"\t")[2])
        if format_ == FORMAT and isinstance(logs, dict) and "state" in value:
            return Row(tuple(marks), tuple(marks_of_logs), logs, value)
    except (ValueError, TypeError):
        pass
    return None


def _append(path: str, data: bytes) -> None:
    """Append to a file that is ours to write: in a folder that is no link, and itself no link."""
    folder = os.path.dirname(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise NotADirectoryError(folder)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o666)
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.write(fd, data)
    finally:
        os.close(fd)
