"""One process at a time: a file of a run that is locked for as long as somebody does a task."""

from __future__ import annotations

import contextlib
import os
import time

from .files import newest
from .lock import Lock, taking


class OnlyOne:
    """The right to do a task in a run. It ends with the process, however that ends."""

    def __init__(self, run: str, path: str) -> None:
        self._run, self._path = run, path
        self._held = contextlib.ExitStack()
        self._taken = False

    def take(self) -> bool:
        """Become the one. False while another is. Raises OSError."""
        if not self._taken:
            self._create()
            with contextlib.ExitStack() as stack:
                if stack.enter_context(taking(self._path)) is Lock.HELD:
                    return False
                self._held = stack.pop_all()
            self._taken = True
        return True

    def _create(self) -> None:
        """The file is no sign of life: its folder gets the time of the newest other file."""
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            alive = newest(self._run) or time.time()
            os.makedirs(folder, exist_ok=True)
            os.utime(folder, (alive, alive))
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))

    def close(self) -> None:
        """Let another one do it."""
        self._taken = False
        self._held.close()
