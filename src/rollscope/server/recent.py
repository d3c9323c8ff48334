"""What was computed a moment ago, kept until others take its room: arrays by a key."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Recent:
    """The arrays that were asked for last, within a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, Array] = OrderedDict()
        self._bytes = 0
        self._guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """The array of a key, made if it is not kept. Two who ask at once may both make it."""
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = np.asarray(make())
        with self._guard:
            self._bytes += made.nbytes - (self._kept[key].nbytes if key in self._kept else 0)
            self._kept[key] = made
            self._kept.move_to_end(key)
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made
