"""Metric blocks of a log that list values one by one: names that come and go, up to a million of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.block import Metrics
from rollscope.store.numbers.rows import Codes, Floats, Ints, NamedRows, Rows, States, Words, ranges


class LongMetrics:
    """Rows of many names in the order they were written. An index by name is made when a name is first asked for."""

    def __init__(self, writer: str, seq: int, words: Words) -> None:
        self.writer, self.seq, self.words = writer, seq, words
        self.codes: dict[str, int] = {}
        self._names: list[Codes] = []
        self._rows: list[Rows] = []
        self._orders: list[Ints] = []
        self._index: tuple[Ints, Ints] | None = None

    def add(self, block: Metrics, where: str) -> None:
        assert block.index is not None
        n, label = len(block.step), block.labels
        codes = np.fromiter(
            (self.codes.setdefault(name, len(self.codes)) for name in block.names), np.int32, len(block.names)
        )
        kinds = self.words.codes(block.kinds)
        state = States.none(n)
        if block.states is not None and block.lengths is not None:
            state = States(block.states, np.cumsum(block.lengths.astype(np.int64)))
        self._names.append(codes[block.index])
        self._orders.append((np.int64(block.number) << 32) + np.arange(n))
        self._rows.append(
            Rows(
                step=block.step,
                time_ns=block.time_ns,
                value=block.values,
                weight=_or_nan(block.weights, n),
                kind=kinds[block.index],
                writer=np.full(n, self.words.code(self.writer), np.int32),
                seq=np.full(n, self.seq),
                rank=np.full(n, label.rank),
                attempt=np.full(n, label.attempt),
                scope=np.full(n, self.words.code(where), np.int32),
                state=state,
            )
        )
        self._index = None

    def everything(self) -> tuple[Codes, Rows, Ints]:
        """Name codes, rows and places in the log."""
        if len(self._rows) > 1:
            self._names, self._rows, self._orders = (
                [np.concatenate(self._names)],
                [Rows.join(self._rows)],
                [np.concatenate(self._orders)],
            )
        if not self._rows:
            return np.empty(0, np.int32), Rows.empty(), np.empty(0, np.int64)
        return self._names[0], self._rows[0], self._orders[0]

    def _by_name(self) -> tuple[Ints, Ints]:
        """Rows in the order of their names' codes, and where each name begins among them."""
        if self._index is None:
            names, _, _ = self.everything()
            order = np.argsort(names, kind="stable")
            self._index = order, np.searchsorted(names[order], np.arange(len(self.codes) + 1))
        return self._index

    def count(self, name: str) -> int:
        if name not in self.codes:
            return 0
        _, bounds = self._by_name()
        return int(bounds[self.codes[name] + 1] - bounds[self.codes[name]])

    def rows(self, name: str) -> tuple[Ints, Rows]:
        order, bounds = self._by_name()
        _, rows, orders = self.everything()
        found = order[bounds[self.codes[name]] : bounds[self.codes[name] + 1]]
        return orders[found], rows.take(found)

    def some(self, names: list[str]) -> NamedRows:
        """The rows of some names, name by name."""
        order, bounds = self._by_name()
        codes = np.array([self.codes[name] for name in names], np.int64)
        sizes = bounds[codes + 1] - bounds[codes]
        found = order[ranges(bounds[codes], sizes)]
        return NamedRows(names, np.repeat(np.arange(len(names), dtype=np.int32), sizes), self.everything()[1].take(found))


def _or_nan(weights: NDArray[np.float64] | None, n: int) -> Floats:
    return np.full(n, np.nan) if weights is None else weights
