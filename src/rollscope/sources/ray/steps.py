"""In which step of the run a call began, by when the numbers of each step were logged.

A trainer logs a step at its end. So a call belongs to the first step whose logging ended after the
call began.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import zip_longest
from pathlib import Path

import numpy as np

from rollscope.store.log import files
from rollscope.store.log.block import Metrics
from rollscope.store.log.scan import scan


class Steps:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}  # log -> up to where it was read
        self._logged: dict[int, tuple[int, int]] = {}  # step -> when it was logged first and last
        self._attempt = 0
        self._ends: list[int] = []
        self._steps: list[int] = []

    def look(self) -> None:
        """Read what the logs of the run have had since the last look."""
        for name in files.listed(str(self._folder)):
            try:
                found = scan(self._folder / name, self._read.get(name, 0))
            except OSError:  # sealed just now; what it had is known up to the last look
                continue
            self._read[name] = found.next_offset
            for block in found.blocks:
                if isinstance(block, Metrics) and block.labels.clock is None:
                    self._take(block)
        self._order()

    def _take(self, block: Metrics) -> None:
        if block.labels.attempt > self._attempt:  # what was logged before the run went on counts no more
            self._attempt, self._logged = block.labels.attempt, {}
        if block.labels.attempt < self._attempt:
            return
        for step in np.unique(block.step).tolist():
            times = block.time_ns[block.step == step]
            known = self._logged.get(step, (times[0], times[0]))
            self._logged[step] = (int(min(known[0], times.min())), int(max(known[1], times.max())))

    def _order(self) -> None:
        """The ends in the order of time.

        What is logged of a step after the next one began, such as an evaluation, is not its end.
        """
        self._ends, self._steps = [], []
        nexts = [first for _, (first, _) in sorted(self._logged.items())][1:]
        for (step, (first, last)), following in zip_longest(sorted(self._logged.items()), nexts):
            end = last if following is None or last < following else first
            while self._ends and self._ends[-1] >= end:
                self._ends.pop()
                self._steps.pop()
            self._ends.append(end)
            self._steps.append(step)

    def at(self, time_ns: int) -> int | None:
        """The step that went on at a time; None after the last one that was logged."""
        place = bisect_left(self._ends, time_ns)
        return self._steps[place] if place < len(self._steps) else None

    def through(self, start_ns: int, end_ns: int) -> int:
        """How many steps were logged in a stretch of time."""
        return bisect_left(self._ends, end_ns) - bisect_left(self._ends, start_ns)

    @property
    def last(self) -> int | None:
        return self._steps[-1] if self._steps else None

    @property
    def next(self) -> int | None:
        """The step that goes on now, if every step is logged."""
        return None if self.last is None else self.last + 1
