"""Keep what was computed last, up to a number of bytes over all runs together.

A screen of charts is asked for again and again: by a reload, by another tab, and for every run on
the charts whenever one of them has a new step. Most of those runs are over.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by key, the least recently used forgotten first. Several threads may ask."""

    def __init__(self, size: Callable[[Value], int], most: int) -> None:
        self._size, self.most = size, most
        self.bytes = 0
        self._kept: OrderedDict[Hashable, tuple[int, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value | None]) -> Value | None:
        """The value of a key, made if it is not kept. None is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        value = make()
        if value is not None:
            with self._lock:
                self._keep(key, value)
        return value

    def _keep(self, key: Hashable, value: Value) -> None:
        size = self._size(value)
        if key in self._kept or size > self.most:
            return
        self._kept[key] = size, value
        self.bytes += size
        while self.bytes > self.most:
            self.bytes -= self._kept.popitem(last=False)[1][0]
