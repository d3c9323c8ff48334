"""The program of the process that reads files: a job comes in, items go out, and no more.

It starts as `python -I -S` with the folders of its libraries, so neither the working folder nor the
environment can put code into it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .limits import NONE
from .lockdown import allow, lock_down, refuse_actions

RECURSION = 600  # lower than in the process that decodes: what passes here passes there


def main() -> None:
    jobs, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    null = os.open(os.devnull, os.O_RDWR)
    with contextlib.suppress(OSError):  # if memory runs out, Linux ends this process and no other
        Path("/proc/self/oom_score_adj").write_text("1000")
    lock_down(json.loads(sys.argv[2]))
    from rollscope.sources import sources

    list(sources())  # if one cannot be loaded, the error is still printed
    for fd in (0, 1, 2):  # a library that prints must not break a frame
        os.dup2(null, fd)
    refuse_actions()
    sys.setrecursionlimit(RECURSION)
    for line in jobs:
        _work(json.loads(line), out)


def _work(job: dict[str, Any], out: BinaryIO) -> None:
    """Send the frames of one job. The last one says how it went."""
    from .frames import pack

    allow(job["memory"], job["seconds"])
    try:
        for number, frame in enumerate(_frames(Path(job["path"]), job["since"], job["skipped"])):
            out.write(frame)
            if not number:
                out.flush()  # who knows the file is said before reading it may end this process
        end = {"is": "end"}
    except MemoryError:
        allow(NONE, NONE)
        end = {"is": "memory"}
    except BrokenPipeError:
        raise
    except Exception as error:
        end = _failure(error)
    out.write(pack(end))
    out.flush()
    if end["is"] == "memory":  # what the libraries kept is unknown: begin again in a new process
        os._exit(0)


def _failure(error: Exception) -> dict[str, str]:
    from rollscope.errors import RollscopeError

    if isinstance(error, RollscopeError):
        return {"is": "failed", "why": str(error)[:2000]}
    if isinstance(error, OSError):
        return {"is": "failed", "why": f"it cannot be read: {error.strerror or error}"}
    if isinstance(error, RecursionError):
        return {"is": "failed", "why": "it is nested too deeply to be read"}
    return {"is": "broken", "why": repr(error)[:2000]}


def _frames(path: Path, since: dict[str, Any], most: int) -> Iterator[bytes]:
    from rollscope.sources import Skipped, recogniser

    from .frames import encode, pack

    source = recogniser(path)
    if source is None:
        return
    yield pack({"is": "source", "name": source.NAMES[0]})
    skipped = 0
    for item in source.rows(path, since):
        skipped += isinstance(item, Skipped)
        if skipped <= most or not isinstance(item, Skipped):
            yield from encode(item)
    if skipped > most:
        why = f"{skipped - most:,} more parts of it were not imported; the first {most:,} are listed"
        yield from encode(Skipped(why, path))
