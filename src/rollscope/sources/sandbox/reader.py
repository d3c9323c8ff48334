"""The importer's side of the reading process: start it, give it files, take items, end it in time.

One process reads many files, since most are small. It is replaced when it dies, when a limit ends
it, and when it must read a folder that it was not started with.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources import Item, SourceError

from .limits import WALL, Limits, size_on_disk, written

START = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); from rollscope.sources.sandbox.child import main; main()"
)
PACKAGES = ("rollscope", "numpy", "pyarrow", "duckdb")
KEPT = ("TZ", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")  # of the environment
SMALL = {"MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
INSIDE = re.compile(r"completions|checkpoint-\d+|events|steps|buffer")  # folders inside the folder of a run
PIPE = 1 << 20  # bytes that the pipe holds, where this can be set
TRUST = "If you trust the file, import it with --trust"


class Ended(SourceError):
    """Reading the file was ended. Nothing after the last mark is complete."""


class Broken(Exception):
    """Reading the file met an error of ours."""


class Reader:
    """Reads files in a process of their own, which lives until `close`."""

    def __init__(self, limits: Limits, everywhere: bool = False) -> None:
        """With `everywhere` the process may read any file: links may lead out of a folder."""
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._everywhere = everywhere
        self._folders: dict[str, int] = {os.sep: 0} if everywhere else {}  # with the number of each on its disk
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def prepare(self, paths: Iterable[Path]) -> None:
        """Start the process, if needed, with the right to read these paths."""
        folders = {} if self._everywhere else {one: _inode(one) for path in paths for one in _folders(path)}
        if not folders.items() <= self._folders.items():  # one that was made again is another folder
            self._end()
            self._folders |= folders
        if self._process is None:
            self._start()

    def read(self, path: Path, since: Mapping[str, Any]) -> Iterator[str | Item]:
        """The name of the source and then the items of a file or folder; nothing if none knows it.

        Raises `Ended` if a limit was reached or the process died, `SourceError` if the file cannot
        be read, `Broken` for an error of ours. The next file can be read after each of them.
        """
        self.prepare(())
        limits = self._limits.for_size(size_on_disk(path))
        complete = False
        try:
            self._ask(path, since, limits)
            yield from self._answers(path, limits)
            complete = True
        except SourceError as error:
            complete = not isinstance(error, Ended)
            raise
        except Broken:
            complete = True
            raise
        finally:
            if not complete:
                self._end()

    def close(self) -> None:
        self._end()
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def _start(self) -> None:
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="rollscope-import-")
        interpreter = [sys.executable, "-I", "-S", "-B", "-X", f"utf8={sys.flags.utf8_mode}", "-c", START]
        arguments = [json.dumps(_libraries()), json.dumps(sorted(self._folders))]
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = subprocess.Popen(
            [*interpreter, *arguments],
            env={**environment, **SMALL, "HOME": self._home.name, "TMPDIR": self._home.name},
            cwd=self._home.name,
            start_new_session=True,  # Ctrl-C is for the importer
            **pipes,  # type: ignore[call-overload]
        )
        _widen(self._process)

    def _end(self) -> int | None:
        """End the process; its exit status, negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return status

    def _ask(self, path: Path, since: Mapping[str, Any], limits: Limits) -> None:
        job = {"path": str(path), "since": since, "skipped": limits.skipped}
        line = json.dumps({**job, "memory": limits.memory, "seconds": limits.seconds}).encode() + b"\n"
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            raise Ended(self._why_dead(limits)) from error

    def _answers(self, path: Path, limits: Limits) -> Iterator[str | Item]:
        from .frames import LENGTHS, BadFrame, decode, unpack

        clock, runs = _Clock(limits.seconds * WALL), set[str]()
        output = 0
        while True:
            head_size, body_size = LENGTHS.unpack(self._receive(LENGTHS.size, clock, limits))
            output += head_size + body_size
            if output > limits.output:
                raise Ended(f"its rows are more than {written(limits.output)}, too many for its size. {TRUST}")
            try:
                head = unpack(self._receive(head_size, clock, limits))
                body = self._receive(body_size, clock, limits) if body_size else b""
                if head.get("is") in ("end", "failed", "broken", "memory"):
                    self._finish(head, limits)
                    return
                item = str(head["name"]) if head.get("is") == "source" else decode(head, body, path)
            except BadFrame as error:
                raise Ended(f"the process that reads it sent something wrong ({error})") from error
            if head["is"] == "run":
                runs.add(head["id"])
                if len(runs) > limits.runs:
                    raise Ended(f"it holds more than {limits.runs:,} runs. {TRUST}")
            yield item

    def _finish(self, head: Mapping[str, Any], limits: Limits) -> None:
        why = str(head.get("why", ""))
        if head["is"] == "memory":
            raise Ended(f"reading it needs more than {written(limits.memory)} of memory. {TRUST}")
        if head["is"] == "failed":
            raise SourceError(why)
        if head["is"] == "broken":
            raise Broken(why)

    def _receive(self, size: int, clock: _Clock, limits: Limits) -> bytes:
        """Exactly `size` bytes of the process. Raises `Ended` if it is dead or too slow."""
        assert self._process is not None and self._process.stdout is not None
        pipe, parts = self._process.stdout.fileno(), []
        while size:
            if not clock.wait(pipe):
                raise Ended(f"reading it takes more than {clock.seconds:,.0f} seconds. {TRUST}")
            part = os.read(pipe, min(size, PIPE))
            if not part:
                raise Ended(self._why_dead(limits))
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _why_dead(self, limits: Limits) -> str:
        process = self._process
        assert process is not None and process.stderr is not None
        try:
            status = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "the process that reads it closed its output"
        if status == -signal.SIGXCPU:
            return f"reading it takes more than {limits.seconds:,.0f} seconds of CPU time. {TRUST}"
        if status in (-signal.SIGKILL, -signal.SIGABRT):
            memory = f"reading it needs more memory than the system has or than {written(limits.memory)}"
            return f"{memory} (signal {-status}). {TRUST}"
        if status < 0:
            return f"reading it made the reading process crash (signal {-status}); the file is damaged or hostile"
        lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        return f"the process that reads files ended (status {status}): {lines[-1] if lines else 'no message'}"


class _Clock:
    """Counts the seconds spent waiting for the process, not those in which its rows are stored."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds

    def wait(self, fd: int) -> bool:
        """Wait until there is something to read; False if the time is up."""
        began = time.monotonic()
        poll = select.poll()
        poll.register(fd, select.POLLIN | select.POLLHUP)
        ready = bool(poll.poll(min(self._left, 10**6) * 1000))
        self._left -= time.monotonic() - began
        return ready


def _folders(path: Path) -> Iterator[str]:
    """Folders to read for a path: itself, or the one around a file, which has parts beside it."""
    for one in dict.fromkeys((path, Path(os.path.realpath(path)))):
        folder = one if one.is_dir() else one.parent
        yield str(folder)
        if INSIDE.fullmatch(folder.name):
            yield str(folder.parent)


def _inode(folder: str) -> int:
    try:
        return os.stat(folder).st_ino
    except OSError:
        return -1


def _libraries() -> list[str]:
    """The folders that hold the packages that reading needs."""
    specs = [importlib.util.find_spec(name) for name in PACKAGES]
    files = [Path(spec.origin) for spec in specs if spec is not None and spec.origin]
    return list(dict.fromkeys(str(file.resolve().parent.parent) for file in files))


def _widen(process: subprocess.Popen[bytes]) -> None:
    """Let the pipe hold more, so that reading and storing wait less for each other."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        assert process.stdout is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE)
