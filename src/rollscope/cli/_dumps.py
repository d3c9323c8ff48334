"""The rollouts that a program dumps, imported into its run while it trains.

A thread looks for new files every second, less often if there are many, and once more at the end.
The program runs in a process of its own, so nothing here waits in it or fails in it.
"""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rollscope.errors import RollscopeError
from rollscope.sources import Skipped
from rollscope.sources.intake.follow.watch import Watch
from rollscope.sources.intake.guest.into import Into
from rollscope.sources.intake.importer import Importer

from ._signals import interrupting
from ._terminal import in_line

if TYPE_CHECKING:
    from rollscope.record.run import Run

SECONDS = 1.0  # at least, between two looks


class Dumps:
    """Follows paths, which may not exist yet, until `close`."""

    def __init__(self, run: Run, paths: list[Path]) -> None:
        self._run, self._paths = run, [path.absolute() for path in paths]
        self._over = threading.Event()
        self._said: set[str] = set()
        self._framework: str | None = None
        self._thread: threading.Thread | None = None
        if paths:
            self._importer = Importer(run.folder.parent, live=True, into=Into(run.id, over=self._over))
            self._importer.leave(self._paths)
            self._watch = Watch(self._paths, SECONDS)
            self._thread = threading.Thread(target=self._follow, name="rollscope-dumps", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Import what came last. Ctrl-C, SIGTERM and a closed terminal end the wait."""
        if self._thread is None:
            return
        try:
            with interrupting():
                self._over.set()
                self._thread.join()
        except KeyboardInterrupt:
            self._say(["the import of the last dumps was broken off"])
        self._run.describe(framework=self._framework)  # the program's trackers could only guess
        if self._said:
            paths = shlex.join(map(str, self._paths))
            add = f"rollscope import {paths} --into {self._run.id} --dir {shlex.quote(str(self._run.folder.parent))}"
            print(in_line(f"rollscope: add what is missing with: {add}"), file=sys.stderr, flush=True)

    def _follow(self) -> None:
        over = False
        try:
            while not over:
                over = self._over.wait(self._watch.rest)
                self._look(over)
        finally:
            self._end()

    def _look(self, over: bool) -> None:
        """Import what is new. What cannot be read or written is tried at the next look."""
        try:
            if self._watch.changed() or self._importer.waits:
                report = self._importer.take([path for path in self._paths if path.exists()])
                self._framework = report.framework or self._framework
                self._say(report.skipped)
            self._importer.meet(over)
        except (RollscopeError, OSError) as error:
            self._watch.look_again()
            self._say([error])

    def _end(self) -> None:
        rest = self._importer.rest()
        try:
            self._importer.close()
        except (RollscopeError, OSError) as error:
            self._say([error])
        self._say(rest)

    def _say(self, faults: Sequence[Skipped | Exception | str]) -> None:
        """Say each fault once, here and in the run."""
        for sentence in map(str, faults):
            if sentence not in self._said:
                self._said.add(sentence)
                print(in_line(f"rollscope: {sentence}"), file=sys.stderr, flush=True)
                self._run.note(sentence, kind="loss")
