"""Columns that are made when they are asked for, and not kept.

A page that stays open knows hundreds of statistics of every step, and shows few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]
Value = TypeVar("Value")


class Computed(Mapping[str, Value], Generic[Value]):
    """Values by name, each computed whenever it is read."""

    def __init__(self, makers: Mapping[str, Callable[[], Value]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Value:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class JoinedRows(Columns):
    """Rows of two tables in the order of their steps. Steps stay the same object."""

    def __init__(self, old: Columns, new: Columns) -> None:
        self._parts = old, new
        step = np.concatenate([old["step"], new["step"]])
        self._order = None if (np.diff(step) > 0).all() else np.argsort(step, kind="stable")
        self._step = step if self._order is None else step[self._order]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name == "step":
            return self._step
        values = np.concatenate([part[name] for part in self._parts])
        return values if self._order is None else values[self._order]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts[0])

    def __len__(self) -> int:
        return len(self._parts[0])
