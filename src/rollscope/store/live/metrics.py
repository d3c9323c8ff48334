"""The metrics of one log that is not sealed: rows by name, in the order they were logged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rollscope.store.log.block import Metrics
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, Words, batch_bounds

from . import scope
from .long import LongMetrics
from .shared import Shared
from .wide import WideMetrics


@dataclass(slots=True)
class Extent:
    """The steps and times in a file: the first step of each attempt, the last step, two times."""

    first: dict[int, int]
    last_step: int = -1
    lo_ns: int = 2**63 - 1
    hi_ns: int = -1

    def add_steps(self, attempt: int, steps: Ints) -> None:
        lowest = int(steps.min())
        self.first[attempt] = min(lowest, self.first.get(attempt, lowest))
        self.last_step = max(self.last_step, int(steps.max()))

    def add_times(self, times: Ints) -> None:
        self.lo_ns, self.hi_ns = min(self.lo_ns, int(times.min())), max(self.hi_ns, int(times.max()))


class LiveMetrics:
    def __init__(self, writer: str, seq: int, words: Words, shared: Shared) -> None:
        self.words = words
        self.wide = WideMetrics(writer, seq, words, shared)
        self.long = LongMetrics(writer, seq, words)
        self.extent = Extent({})

    def add(self, block: Metrics) -> None:
        if not len(block.step):
            return
        self.extent.add_times(block.time_ns)
        if block.labels.clock is None:  # readings of another clock are no steps
            self.extent.add_steps(block.labels.attempt, block.step)
        if block.index is None:
            self.wide.add(block)
        else:
            self.long.add(block, scope.word(block.labels.env, block.labels.split, block.labels.clock))

    def names(self) -> set[str]:
        return self.wide.columns.keys() | self.long.codes.keys()

    def rows(self, name: str, since: int | None = None) -> Rows:
        """The rows of a name; with `since`, at least those of that step and later ones."""
        parts = self.wide.rows(name, since) + ([self.long.rows(name)] if name in self.long.codes else [])
        if len(parts) == 1:
            return parts[0][1]
        joined = Rows.join([rows for _, rows in parts])
        order = np.concatenate([order for order, _ in parts]) if parts else np.empty(0, np.int64)
        return joined if (np.diff(order) > 0).all() else joined.take(np.argsort(order, kind="stable"))

    def batches(self, size: int) -> Iterator[NamedRows]:
        """All rows ordered by name, in batches of about `size` rows, at least one name each."""
        names = sorted(self.names())
        counts = np.array([self.wide.count(name) + self.long.count(name) for name in names], np.int64)
        for lo, hi in batch_bounds(counts, size):
            yield self._some(names[lo:hi])

    def _some(self, names: list[str]) -> NamedRows:
        wide = self.wide.some([name for name in names if name not in self.long.codes])
        both = [name for name in names if name in self.wide.columns and name in self.long.codes]
        rest = [name for name in names if name not in self.wide.columns]
        if not both and not rest:
            return wide
        mixed = [NamedRows([name], np.zeros(len(rows), np.int32), rows) for name in both if (rows := self.rows(name))]
        return NamedRows.join([wide, *mixed, self.long.some(rest)])

    def everything(self) -> NamedRows:
        return NamedRows.join(list(self.batches(2**62)))
