"""Long metric blocks of a log: values one by one, of names that come and go, up to a million."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rollscope.store.log.block import Metrics
from rollscope.store.numbers.rows import Codes, Ints, NamedRows, Rows, States, Words, ranges


class LongMetrics:
    """Rows of many names in the order they were written, and an index built on first use."""

    def __init__(self, writer: str, seq: int, words: Words) -> None:
        self.writer, self.seq, self.words = writer, seq, words
        self.codes: dict[str, int] = {}
        self._names: list[Codes] = []
        self._rows: list[Rows] = []
        self._orders: list[Ints] = []
        self._index: tuple[Ints, Ints] | None = None

    def add(self, block: Metrics, scope: str) -> None:
        assert block.index is not None
        codes = [self.codes.setdefault(name, len(self.codes)) for name in block.names]
        self._names.append(np.array(codes, np.int32)[block.index])
        self._orders.append((np.int64(block.number) << 32) + np.arange(len(block.step)))
        self._rows.append(self._rows_of(block, block.index, scope))
        self._index = None

    def _rows_of(self, block: Metrics, index: NDArray[np.uint32], scope: str) -> Rows:
        n, label = len(block.step), block.labels
        state = States.none(n)
        if block.states is not None and block.lengths is not None:
            state = States(np.array(block.states), np.cumsum(block.lengths.astype(np.int64)))
        return Rows(  # copies: a view would keep every byte that was scanned with it, texts too
            step=np.array(block.step),
            time_ns=np.array(block.time_ns),
            value=np.array(block.values),
            weight=np.full(n, np.nan) if block.weights is None else np.array(block.weights),
            kind=self.words.codes(block.kinds)[index],
            writer=np.full(n, self.words.code(self.writer), np.int32),
            seq=np.full(n, self.seq),
            rank=np.full(n, label.rank),
            attempt=np.full(n, label.attempt),
            scope=np.full(n, self.words.code(scope), np.int32),
            state=state,
        )

    def everything(self) -> tuple[Codes, Rows, Ints]:
        """Name codes, rows and positions in the log."""
        if not self._rows:
            return np.empty(0, np.int32), Rows.empty(), np.empty(0, np.int64)
        if len(self._rows) > 1:
            self._names, self._orders = [np.concatenate(self._names)], [np.concatenate(self._orders)]
            self._rows = [Rows.join(self._rows)]
        return self._names[0], self._rows[0], self._orders[0]

    def _by_name(self) -> tuple[Ints, Ints]:
        """Rows in the order of their names' codes, and the bounds of each name among them."""
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
        """Positions in the log, and rows, of one name."""
        order, bounds = self._by_name()
        _, rows, orders = self.everything()
        index = order[bounds[self.codes[name]] : bounds[self.codes[name] + 1]]
        return orders[index], rows.take(index)

    def some(self, names: list[str]) -> NamedRows:
        """The rows of some names, name by name."""
        order, bounds = self._by_name()
        codes = np.array([self.codes[name] for name in names], np.int64)
        sizes = bounds[codes + 1] - bounds[codes]
        index = order[ranges(bounds[codes], sizes)]
        name = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
        return NamedRows(names, name, self.everything()[1].take(index))
