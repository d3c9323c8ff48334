"""A disk with weather: writes, opens and syncs that fail, fall short, are interrupted or hang.

Faults come by chance, in spells, as they do on real disks: for a while every call may fail.
"""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

FAULTS = ("EIO", "ENOSPC", "ESTALE", "EMFILE", "short", "EINTR", "hang")
SPELL = 0.3  # seconds that bad weather lasts, on average
CALM = 0.3  # and good weather
HANG = 0.2  # seconds of a call that hangs


class Weather:
    """Stands in for the functions of `os` that logs are written with, below one folder."""

    def __init__(self, root: Path, faults: tuple[str, ...] = FAULTS, seed: int = 1) -> None:
        self.root, self.faults, self.dice = str(root), faults, random.Random(seed)
        self.met: dict[str, int] = dict.fromkeys(faults, 0)
        self._real = {name: getattr(os, name) for name in ("open", "write", "writev", "fdatasync")}
        self._guard = threading.Lock()
        self._fault, self._until = "", time.monotonic() + CALM

    def __enter__(self) -> Weather:
        os.open, os.fdatasync = self._open, self._fdatasync  # type: ignore[assignment]
        os.write, os.writev = self._write, self._writev  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _now(self) -> str:
        """The fault of this instant, or an empty text."""
        with self._guard:
            if time.monotonic() > self._until:
                self._fault = "" if self._fault else self.dice.choice(self.faults)
                length = SPELL if self._fault else CALM
                self._until = time.monotonic() + self.dice.uniform(0.5, 1.5) * length
            return self._fault if self.dice.random() < 0.7 else ""

    def _meet(self, *kinds: str) -> str:
        """Fail as the weather has it, if it is one of these kinds; return what else it has."""
        fault = self._now()
        if fault not in kinds:
            return ""
        self.met[fault] += 1
        if fault == "hang":
            time.sleep(HANG)
        elif fault != "short":
            code = getattr(errno, fault)
            raise OSError(code, os.strerror(code))
        return fault

    def _is_ours(self, fd: int) -> bool:
        return os.readlink(f"/proc/self/fd/{fd}").startswith(self.root)

    def _open(self, path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if os.fspath(path).startswith(self.root) and flags & os.O_CREAT:
            self._meet("EIO", "ENOSPC", "ESTALE", "EMFILE", "EINTR", "hang")
        return int(self._real["open"](path, flags, *rest, **more))

    def _fdatasync(self, fd: int) -> None:
        if self._is_ours(fd):
            self._meet("hang")
        self._real["fdatasync"](fd)

    def _write(self, fd: int, data: Any) -> int:
        if self._is_ours(fd) and self._meet("EIO", "ENOSPC", "ESTALE", "EINTR", "short", "hang") == "short":
            data = bytes(data)[: max(1, len(data) // 2)]
        return int(self._real["write"](fd, data))

    def _writev(self, fd: int, parts: Any) -> int:
        if not self._is_ours(fd):
            return int(self._real["writev"](fd, parts))
        if self._meet("EIO", "ENOSPC", "ESTALE", "EINTR", "short", "hang") == "short":
            whole = b"".join(map(bytes, parts))
            return int(self._real["write"](fd, whole[: self.dice.randrange(1, len(whole))]))
        return int(self._real["writev"](fd, parts))
