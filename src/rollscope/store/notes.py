"""What people write into a run while they read it: each word in a closed log of its own, beside the logs of the processes that record.

No file of a training process is touched, and a note is no sign of life: its file carries the time
of the newest of the others, so that nobody takes a silent run for a living one because somebody
wrote about it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Mapping
from typing import Any

from rollscope.errors import CannotWrite
from rollscope.store.log import block
from rollscope.store.log.files import file_name, newest
from rollscope.store.log.writer import LogWriter


def write(run: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Add a row to the notes of the run in this folder; gives it with its time."""
    noted = {"time_ns": time.time_ns(), **row}
    writer, alive = secrets.token_hex(8), newest(run) or time.time()
    path = os.path.join(run, file_name(writer, 1))
    try:
        log = LogWriter(path)
        try:
            log.append(
                [
                    block.meta("open", {"writer": writer, "seq": 1, "role": "reader"}),
                    block.table("notes", [noted]),
                    block.meta("end", {}),
                ]
            )
        finally:
            log.close()
        os.utime(path, (alive, alive))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise CannotWrite(
            f"the note could not be written to {run}: {error.strerror or error}. Is the folder writable, and the disk not full?"
        ) from error
    return noted
