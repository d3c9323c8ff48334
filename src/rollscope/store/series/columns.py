"""The columns of one series, with what its name means beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from rollscope.store.naming import Found


class SeriesColumns(dict[str, NDArray[Any]]):
    """Columns by name. `found` tells which series was read, in which unit, and why."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], find: Callable[[], Found]) -> None:
        super().__init__(columns)
        self._find = find

    @cached_property
    def found(self) -> Found:
        """What the name means; looked up when asked for, since few callers ask."""
        return self._find()

    @property
    def unit(self) -> str:
        """The unit of the values."""
        return self.found.unit
