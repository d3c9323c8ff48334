"""The metrics of one log that is not sealed: what was logged under a name, in the order it was logged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rollscope.store.log.block import Metrics
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, Words, batch_bounds

from .long import LongMetrics
from .wide import WideMetrics, place


@dataclass(slots=True)
class Extent:
    """What lies in a stretch of a file: attempts with their first step, the last step, the first and last time."""

    first: dict[int, int]
    last_step: int = -1
    lo_ns: int = 2**63 - 1
    hi_ns: int = -1

    def widen(self, attempt: int, steps: Ints) -> None:
        lowest = int(steps.min())
        self.first[attempt] = min(lowest, self.first.get(attempt, lowest))
        self.last_step = max(self.last_step, int(steps.max()))

    def lengthen(self, times: Ints) -> None:
        self.lo_ns, self.hi_ns = min(self.lo_ns, int(times.min())), max(self.hi_ns, int(times.max()))


class LiveMetrics:
    def __init__(self, writer: str, seq: int, words: Words) -> None:
        self.words = words
        self.wide = WideMetrics(writer, seq, words)
        self.long = LongMetrics(writer, seq, words)
        self.extent = Extent({})

    def add(self, block: Metrics) -> None:
        if not len(block.step):
            return
        self.extent.lengthen(block.time_ns)
        if block.labels.clock is None:  # readings of another clock are no steps
            self.extent.widen(block.labels.attempt, block.step)
        if block.index is None:
            self.wide.add(block)
        else:
            self.long.add(block, place(block.labels.env, block.labels.split, block.labels.clock))

    def __contains__(self, name: str) -> bool:
        return name in self.wide.where or name in self.long.codes

    def names(self) -> set[str]:
        return self.wide.where.keys() | self.long.codes.keys()

    def rows(self, name: str, since: int | None = None) -> Rows:
        """What was logged under a name; with `since`, at least of that step and later ones."""
        found = self.wide.rows(name, since) + ([self.long.rows(name)] if name in self.long.codes else [])
        if len(found) == 1:
            return found[0][1]
        joined = Rows.join([rows for _, rows in found])
        order = np.concatenate([order for order, _ in found]) if found else np.empty(0, np.int64)
        return joined if (np.diff(order) > 0).all() else joined.take(np.argsort(order, kind="stable"))

    def batches(self, size: int) -> Iterator[NamedRows]:
        """All rows in the order of their names, a few names at a time: about `size` rows, at least one name."""
        names = sorted(self.names())
        counts = np.array([self.wide.count(name) + self.long.count(name) for name in names], np.int64)
        for lo, hi in batch_bounds(counts, size):
            yield self._some(names[lo:hi])

    def _some(self, names: list[str]) -> NamedRows:
        wide = [name for name in names if name in self.wide.where]
        parts = [self.rows(name) for name in wide]
        named = NamedRows(
            wide, np.repeat(np.arange(len(wide), dtype=np.int32), [len(part) for part in parts]), Rows.join(parts)
        )
        rest = [name for name in names if name not in self.wide.where]
        return NamedRows.join([named, self.long.some(rest)]) if rest else named

    def everything(self) -> NamedRows:
        return NamedRows.join(list(self.batches(2**62)))
