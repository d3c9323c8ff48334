"""A process that answers heavy questions one at a time, as the process that started it sees it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from rollscope import errors, isolated
from rollscope.errors import BadInput, MachineBusy, RollscopeError
from rollscope.store.tables import spill
from rollscope.store.tables.sql import too_late

from .frames import LENGTHS, send

PROGRAM = "rollscope.server.questions.child"
START_SECONDS = 60.0  # that a process may take to load its libraries, on a busy machine
GRACE = 3.0  # seconds a question may take beyond its own limit before its process is ended
ANSWER_BYTES = 1 << 30
IN_MEMORY = 8 << 20  # bytes of an answer; a larger one waits in a file without a name
CHUNK = 1 << 20


class Worker:
    """One process. It starts with its first question, and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._loaded = False
        self._stopped = False

    def ask(self, kind: str, limit: float, question: Mapping[str, Any]) -> IO[bytes]:
        """The answer as a file to read. Raises what the process raised, or a sentence.

        `kind` names a function of `answers`, `question` has its arguments, and `limit` is the
        seconds after which the process is ended.
        """
        process, began = self._started(), None
        try:
            if self._stopped:  # before there was a process to end
                raise EOFError
            self._wait_until_loaded(process)
            began = _processor_seconds(process.pid)
            assert process.stdin is not None
            send(process.stdin, {"kind": kind, "question": question})
            head, answer = self._receive(process, time.monotonic() + limit + GRACE)
        except BaseException as error:  # also KeyboardInterrupt: a process in the middle of a frame is of no use
            now = _processor_seconds(process.pid)
            self.close()
            worked = None if now is None or began is None else now - began
            if (why := self._why(process, error, limit, worked)) is error:
                raise
            raise why from error
        if head.get("last"):
            self.close()
        if "says" in head:
            raise _error(head)
        return answer

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def begin(self) -> None:
        """Forget that an earlier question was stopped, and the process that was killed with it."""
        if self._stopped:  # also a process that had answered by then: it dies a moment later
            self.close()
        self._stopped = False

    def stop(self) -> None:
        """End the process, from any thread. A question that it is answering fails."""
        self._stopped = True
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        """End the process and wait until it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _started(self) -> subprocess.Popen[bytes]:
        if not self.is_running():
            self.close()
            self._loaded = False
            self._process = subprocess.Popen(
                isolated.command(PROGRAM),
                env=isolated.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends its processes
            )
        assert self._process is not None
        return self._process

    def _wait_until_loaded(self, process: subprocess.Popen[bytes]) -> None:
        """The process sends one empty frame when it has its libraries."""
        if not self._loaded:
            self._receive(process, time.monotonic() + START_SECONDS)
            self._loaded = True

    def _receive(self, process: subprocess.Popen[bytes], deadline: float) -> tuple[dict[str, Any], IO[bytes]]:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        lengths = b"".join(_read(pipe, LENGTHS.size, deadline))
        head_length, body_length = LENGTHS.unpack(lengths)
        head = json.loads(b"".join(_read(pipe, head_length, deadline)))
        if body_length > ANSWER_BYTES:
            raise BadInput(
                f"the answer is larger than {ANSWER_BYTES >> 20} MB."
                " Ask for fewer rows or columns, or export in the terminal: rollscope export"
            )
        return head, _file(body_length, _read(pipe, body_length, deadline))

    def _why(
        self, process: subprocess.Popen[bytes], error: BaseException, limit: float, worked: float | None
    ) -> BaseException:
        """What to raise for a question without an answer, after `worked` seconds of a processor."""
        if self._stopped:
            return BadInput("the question was stopped, because its client has left.")
        if not self._loaded and isinstance(error, TimeoutError | EOFError | BrokenPipeError):
            return MachineBusy(
                f"the process that answers questions did not start (after {START_SECONDS:g} s, code"
                f" {process.returncode}): the machine is busy, or has no memory left. Ask again in a moment."
            )
        if isinstance(error, TimeoutError):
            return too_late(limit, worked)
        if isinstance(error, EOFError | BrokenPipeError):
            return BadInput(
                f"the process that answered the question ended with code {process.returncode}; most likely the question"
                " needs more memory than there is. Ask for fewer rows or columns."
            )
        return error


def _processor_seconds(pid: int) -> float | None:
    """What a process has had of the processors so far; None where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()  # the name of a program may have spaces
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def _file(length: int, chunks: Iterable[bytes]) -> IO[bytes]:
    """The chunks as a file to read, which the caller closes."""
    file: IO[bytes] = io.BytesIO() if length <= IN_MEMORY else tempfile.TemporaryFile()  # noqa: SIM115
    try:
        for chunk in chunks:
            file.write(chunk)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _read(pipe: int, count: int, deadline: float) -> Iterator[bytes]:
    """Exactly `count` bytes, in chunks. Raises TimeoutError and EOFError."""
    while count:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        chunk = os.read(pipe, min(count, CHUNK))
        if not chunk:
            raise EOFError
        count -= len(chunk)
        yield chunk


def _error(head: dict[str, Any]) -> Exception:
    """The error that the process raised. An error of another library is a bug of ours."""
    kind = getattr(errors, head["error"], None) if head["error"] else None
    if isinstance(kind, type) and issubclass(kind, RollscopeError):
        error = kind.__new__(kind)  # some take other arguments than a sentence
        error.args = (head["says"],)
        return error
    return RuntimeError(head["says"])


@contextmanager
def one() -> Iterator[Worker]:
    """A worker for one question, ended afterwards."""
    worker = Worker()
    try:
        yield worker
    finally:
        worker.close()
        spill.sweep()
