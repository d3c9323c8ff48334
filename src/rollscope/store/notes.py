"""Notes and findings that a reader writes into a run: each in a closed log of its own.

No file of a training process is touched. A note is no sign of life: its file gets the time of the
newest other file, so a silent run does not look alive because someone wrote a note.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from rollscope.errors import CannotWrite
from rollscope.store.log import block
from rollscope.store.log.files import file_name, newest
from rollscope.store.log.writer import LogWriter

_acting: ContextVar[str] = ContextVar("acting", default="")  # for whom this process acts now


@contextlib.contextmanager
def acting(name: str) -> Iterator[None]:
    """Act for someone who signed in: what is written meanwhile has their name."""
    before = _acting.set(name)
    try:
        yield
    finally:
        _acting.reset(before)


def author() -> str:
    """For whom this process acts; else the user who runs it, as far as the system knows them."""
    if name := _acting.get():
        return name
    with contextlib.suppress(Exception):  # a container may have no name for its user
        return getpass.getuser()
    return f"user {os.getuid()}"


def write(run: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Add a row to the notes of the run in this folder; return the row with its time and author."""
    data = {"author": author(), **(row.get("data") or {})}
    note = {"time_ns": time.time_ns(), **row, "data": data}
    write_rows(run, "notes", [note])
    return note


def write_rows(run: str, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to a table of the run in this folder."""
    writer, alive = secrets.token_hex(8), newest(run) or time.time()
    path = os.path.join(run, file_name(writer, 1))
    try:
        with contextlib.closing(LogWriter(path)) as log:
            opening = block.meta("open", {"writer": writer, "seq": 1, "role": "reader"})
            log.append([opening, block.table(table, [dict(row) for row in rows]), block.meta("end", {})])
        os.utime(path, (alive, alive))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise CannotWrite(
            f"{table} could not be written to {run}: {error.strerror or error}."
            " Is the folder writable, and the disk not full?"
        ) from error
