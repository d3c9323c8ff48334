"""Keep what was computed last, up to a number of bytes over all runs together.

A screen of charts is asked for again and again: by a reload, by another tab, and for every run on
the charts whenever one of them has a new step. Most of those runs are over. Of a run that grows,
only answers about its newest state are kept: nobody asks for an older one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by run and key, the least recently used forgotten first. Several threads may ask."""

    def __init__(self, size: Callable[[Value], int], most: int) -> None:
        self._size, self.most = size, most
        self.bytes = 0
        self._kept: OrderedDict[tuple[Hashable, Hashable], tuple[int, Value]] = OrderedDict()
        self._newest: dict[Hashable, tuple[Hashable, set[Hashable]]] = {}  # run -> its state, and keys of values
        self._lock = threading.Lock()

    def get(self, run: Hashable, state: Hashable, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key for a run in a state, made if it is not kept. None is not kept."""
        with self._lock:
            self._follow(run, state)
            if (run, key) in self._kept:
                self._kept.move_to_end((run, key))
                return self._kept[run, key][1]
        value = make()
        if value is not None:
            with self._lock:
                self._follow(run, state)
                self._keep(run, state, key, value)
        return value

    def _follow(self, run: Hashable, state: Hashable) -> None:
        """Forget the values of another state of the run."""
        before, keys = self._newest.get(run, (state, set()))
        if before != state:
            for key in list(keys):
                self._forget(run, key)

    def _keep(self, run: Hashable, state: Hashable, key: Hashable, value: Value) -> None:
        size = self._size(value)
        if (run, key) in self._kept or size > self.most:
            return
        self._kept[run, key] = size, value
        self._newest.setdefault(run, (state, set()))[1].add(key)
        self.bytes += size
        while self.bytes > self.most:
            self._forget(*next(iter(self._kept)))

    def _forget(self, run: Hashable, key: Hashable) -> None:
        self.bytes -= self._kept.pop((run, key))[0]
        keys = self._newest[run][1]
        keys.discard(key)
        if not keys:
            del self._newest[run]
