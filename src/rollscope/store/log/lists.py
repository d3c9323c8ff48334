"""Lists of numbers, one a row, that lie one after the other in one array.

A column of token values as one array is copied, cut and encoded at once. As an array a row it costs
about a microsecond for each row and each of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@final
class Lists:
    """Row i is `values[ends[i] - lengths[i] : ends[i]]`."""

    __slots__ = ("ends", "lengths", "values")

    def __init__(self, values: Array, lengths: Array) -> None:
        self.values = values
        self.lengths: NDArray[np.int64] = lengths.astype(np.int64, copy=False)
        self.ends: NDArray[np.int64] = self.lengths.cumsum()

    @classmethod
    def of(cls, rows: Sequence[Array]) -> Lists:
        """The rows of any sequence, copied into one array."""
        values = np.concatenate(rows) if len(rows) else np.empty(0)
        return cls(values, np.fromiter(map(len, rows), np.int64, len(rows)))

    @property
    def starts(self) -> NDArray[np.int64]:
        return self.ends - self.lengths

    def sums(self) -> NDArray[np.float64]:
        """The sum of each row."""
        sums, some = np.zeros(len(self)), self.lengths > 0
        if some.any():
            sums[some] = np.add.reduceat(self.values.astype(np.float64), self.starts[some])
        return sums

    def copy(self) -> Lists:
        return Lists(self.values.copy(), self.lengths)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[Array]:
        return (self.values[start:end] for start, end in pairwise([0, *self.ends.tolist()]))

    @overload
    def __getitem__(self, at: int) -> Array: ...
    @overload
    def __getitem__(self, at: slice) -> Lists: ...
    def __getitem__(self, at: int | slice) -> Array | Lists:
        if isinstance(at, int):
            at = range(len(self))[at]
            return self.values[self.starts[at] : self.ends[at]]
        first, last, step = at.indices(len(self))
        if step != 1:
            raise ValueError(f"rows are cut in steps of 1, not {step}")
        if first == 0 and last == len(self):
            return self
        start = int(self.ends[first - 1]) if first else 0
        lengths = self.lengths[first:last]
        return Lists(self.values[start : start + int(lengths.sum())], lengths)


ColumnValues = Sequence[Any] | Lists  # of a column: one a row
