"""The program of the process for heavy questions: a question comes in, one answer goes out.

Its memory is limited by the system: DuckDB's own limit does not count what functions allocate. It
ends when the process that started it goes, also in the middle of a question.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import traceback
from typing import IO

from rollscope.errors import RollscopeError

from .frames import Head, receive, send

MEMORY = 3 << 30  # bytes that questions may take, beyond what the libraries take when they are loaded
KEPT = 1 << 29  # a process that keeps more than this after a question is replaced
TOO_MUCH = (
    f"the question needs more than {MEMORY >> 30} GB of memory and was stopped."
    " Ask for fewer rows or columns (LIMIT, or an aggregate)."
)
REPLACED = "files of the run were replaced while they were read, several times in a row. Ask again."
SIGNS = ("Out of Memory Error", "Allocation failure", "malloc of size", "bad_alloc", "bad allocation")


def main() -> None:
    questions, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # a library that prints must not break a frame
    base = _load()
    _limit(base + MEMORY)
    send(out, {})  # ready
    asked: queue.SimpleQueue[Head] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions, asked), daemon=True).start()
    while True:
        _reply(out, asked.get(), base)


def _listen(questions: IO[bytes], asked: queue.SimpleQueue[Head]) -> None:
    while (question := receive(questions)) is not None:
        asked.put(question)
    os._exit(0)  # nobody waits for the answer


def _load() -> int:
    """Import all that questions need and wake DuckDB; return the memory that this takes."""
    from rollscope.store.tables import sql

    from . import answers  # noqa: F401

    with sql.connected() as connection:
        sql.ask(connection, "select 1")
    return _memory()


def _memory() -> int:
    """Bytes that this process has allocated; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0


def _limit(memory: int) -> None:
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (memory if hard == resource.RLIM_INFINITY else min(memory, hard), hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _reply(out: IO[bytes], question: Head, base: int) -> None:
    """Send the answer, or why there is none. A process that memory ran out in ends afterwards."""
    from .answers import KINDS

    head, body = Head(), b""
    try:
        body = KINDS[question["kind"]](**question["question"])
    except Exception as error:
        head = _failure(error)
    if head.get("says") == TOO_MUCH or _memory() > base + KEPT:
        head["last"] = True
    send(out, head, memoryview(body))
    if "last" in head:
        os._exit(0)


def _failure(error: Exception) -> Head:
    import pyarrow as pa

    if isinstance(error, MemoryError | pa.ArrowMemoryError) or any(sign in str(error) for sign in SIGNS):
        return {"error": "BadInput", "says": TOO_MUCH}
    if isinstance(error, FileNotFoundError):
        return {"error": "CannotRead", "says": REPLACED}
    if isinstance(error, RollscopeError):
        return {"error": type(error).__name__, "says": str(error)}
    traceback.print_exc()
    return {"error": "", "says": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # nobody waits for the answer
        main()
    os._exit(0)
