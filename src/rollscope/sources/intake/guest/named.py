"""Who writes the numbers of a run that is being recorded while files are imported into it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from rollscope.errors import RollscopeError

SETTLED = 1.0  # seconds after which what a program logged is on the disk
HUGGING_FACE = ("trl", "swift")  # frameworks whose trainers log to trackers under names with a prefix


class Named:
    """The names of numbers, and the writers of each.

    A program writes a number into a file and logs it to a tracker at nearly the same time. So a
    name that a file tells for the first time waits until the run has it, if it gets it at all.
    """

    def __init__(self, folder: Path, writers: dict[str, set[str]]) -> None:
        self._folder, self._writers = folder, writers

    def meet(self, names: Iterable[str]) -> None:
        """Look for the writers of names that are new."""
        if any(name not in self._writers for name in names):
            time.sleep(SETTLED)
            with contextlib.suppress(RollscopeError, OSError):  # it cannot be read: then nothing is known
                self._ask()

    def _ask(self) -> None:
        from rollscope.store.store import open as open_runs  # DuckDB

        run = open_runs(str(self._folder.parent)).run(self._folder.name)
        found = run.sql("SELECT DISTINCT name, writer FROM metrics")
        writers: dict[str, set[str]] = {}
        for name, writer in zip(found["name"], found["writer"], strict=True):
            writers.setdefault(str(name), set()).add(str(writer))
        for name, some in writers.items():
            self._writers.setdefault(name, some)


def tracked(name: str, framework: str) -> str:
    """What a tracker calls a number of a file: Hugging Face's trainers add `train/` or `eval/`."""
    if framework.partition(":")[0].partition("@")[0] not in HUGGING_FACE:
        return name
    return f"eval/{name.removeprefix('eval_')}" if name.startswith("eval_") else f"train/{name}"
