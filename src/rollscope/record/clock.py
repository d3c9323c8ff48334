"""Wall-clock nanoseconds that never go backwards.

The monotonic clock is anchored to the wall clock once, and moved forward after the machine slept.
"""

from __future__ import annotations

import time

SLEPT_NS = 1_000_000_000


class Clock:
    """`now()` is the monotonic clock plus `offset`, which callers in a hurry may add themselves."""

    def __init__(self) -> None:
        self.offset = time.time_ns() - time.perf_counter_ns()

    def now(self) -> int:
        return time.perf_counter_ns() + self.offset

    def tend(self) -> int:
        """Follow the wall clock forward.

        Returns by how many nanoseconds the wall clock was set back since the anchor, else 0.
        """
        ahead = time.time_ns() - self.now()
        if ahead > SLEPT_NS:
            self.offset += ahead
        return -ahead if ahead < -SLEPT_NS else 0
