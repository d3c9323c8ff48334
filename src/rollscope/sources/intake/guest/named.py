"""Who writes the numbers of a run that is being recorded while files are imported into it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from rollscope.errors import RollscopeError
from rollscope.sources.intake.cursors import guests

PATIENCE = 3.0  # seconds that a program may take until its tracker logs what it wrote into a file
FIRST = 20.0  # the same for what it logs first of all: starting a tracker takes a while
PAUSE = 0.5  # seconds between two looks
HUGGING_FACE = ("trl", "swift")  # frameworks whose trainers log to trackers under names with a prefix


class Named:
    """The names of numbers, and the writers of each.

    A program writes a number into a file and logs it to a tracker at nearly the same time. So a
    name that a file tells for the first time waits until the run has it, if it gets it at all.
    Once the program is `over`, the run has all that it gets.
    """

    def __init__(self, folder: Path, writers: dict[str, set[str]], over: threading.Event | None) -> None:
        self._folder, self._writers, self._over = folder, writers, over or threading.Event()
        self._has_own = False  # whether the run has numbers that were not imported

    def meet(self, names: Iterable[str]) -> None:
        """Look for the writers of names that are new."""
        new, began = {*names} - self._writers.keys(), time.monotonic()
        while new:
            self._over.wait(PAUSE)
            is_over = self._over.is_set()
            with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: then nothing is known
                self._ask()
            new -= self._writers.keys()
            if is_over or time.monotonic() - began > (PATIENCE if self._has_own else FIRST):
                return

    def _ask(self) -> None:
        from rollscope.store.store import open as open_runs  # DuckDB

        run = open_runs(str(self._folder.parent)).run(self._folder.name)
        found = run.sql("SELECT DISTINCT name, writer FROM metrics")
        writers: dict[str, set[str]] = {}
        for name, writer in zip(found["name"], found["writer"], strict=True):
            writers.setdefault(str(name), set()).add(str(writer))
        for name, some in writers.items():
            self._writers.setdefault(name, some)
        imports = guests(self._folder)
        self._has_own = any(some - {*imports} for some in writers.values())


def tracked(name: str, framework: str) -> str:
    """What a tracker calls a number of a file: Hugging Face's trainers add `train/` or `eval/`."""
    if framework.partition(":")[0].partition("@")[0] not in HUGGING_FACE:
        return name
    return f"eval/{name.removeprefix('eval_')}" if name.startswith("eval_") else f"train/{name}"
