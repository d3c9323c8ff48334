"""Some rows of a table as columns, and about how many bytes values hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from rollscope.store.log.lists import ColumnValues as Values
from rollscope.store.log.lists import Lists

__all__ = ["ROW_BYTES", "Columns", "Values", "bytes_of", "nested_size"]
ROW_BYTES = 100  # of a row beside its values


@dataclass(slots=True)
class Columns:
    """Name -> one value a row, None where there is none."""

    count: int
    values: dict[str, Values]

    def records(self) -> list[dict[str, Any]]:
        """The rows. Values that are not there are left out."""
        names = [*self.values]
        rows = zip(*self.values.values(), strict=True)
        return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]

    def remove(self, names: Collection[str]) -> int:
        """Remove columns. Returns how many values they had."""
        gone = [self.values.pop(name) for name in self.values.keys() & names]
        return sum(value is not None for values in gone for value in values)

    def parts(self, count: int) -> list[Columns]:
        """Parts of at most `count` rows."""
        starts = range(0, self.count, count)
        return [Columns(min(count, self.count - at), self._cut(at, at + count)) for at in starts]

    def _cut(self, start: int, end: int) -> dict[str, Values]:
        return {name: values[start:end] for name, values in self.values.items()}

    def size(self) -> int:
        """About how many bytes the rows hold."""
        return self.count * (ROW_BYTES + 8 * len(self.values)) + sum(map(bytes_of, self.values.values()))


def bytes_of(values: Values) -> int:
    """About how many bytes the values of a column hold, beside eight for each."""
    if type(values) is Lists:
        return values.values.nbytes
    kinds = {*map(type, values)}
    if kinds == {str}:
        return sum(map(len, values))
    return 0 if kinds <= {int, float, bool, NoneType} else sum(map(nested_size, values))


def nested_size(value: Any) -> int:
    """About how many bytes a value holds, with all that is inside it."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind is dict:
        return 16 + sum(map(nested_size, value.values()))
    if kind is list:
        return 16 + sum(map(nested_size, value))
    return value.nbytes if kind is np.ndarray else 8
