"""How often someone may ask: so many requests at once, and so many a second after that."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_KNOWN = 10_000  # who asked last; the others have their whole burst again


class Rates:
    """One bucket for each asker. `clock` is for tests."""

    def __init__(self, burst: float, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.burst, self.a_second, self._clock = burst, a_second, clock
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()  # asker -> what is left, and since when

    def wait(self, asker: str) -> float:
        """0 if the asker may ask now, which counts; else the seconds until they may."""
        left = self.left(asker)
        self._known[asker] = (left - 1 if left >= 1 else left), self._clock()
        self._known.move_to_end(asker)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) / self.a_second

    def left(self, asker: str) -> float:
        """How many requests the asker may send now."""
        left, since = self._known.get(asker, (self.burst, self._clock()))
        return min(self.burst, left + (self._clock() - since) * self.a_second)
