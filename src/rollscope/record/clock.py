"""Wall-clock nanoseconds that do not go backwards, whatever happens to the wall clock.

The monotonic clock is anchored to the wall clock once. It follows the wall clock forward after the
machine slept, or when the wall clock stays ahead for a while; a jump that is taken back at once is
ignored. If the wall clock was set back, time runs at half speed until the two meet, in small steps:
a writer that was held up for long does not take back half of that time at once.
"""

from __future__ import annotations

import time

AHEAD_NS = 1_000_000_000  # smaller differences are the usual drift
BELIEVE_NS = 60_000_000_000  # how long a jump forward must last before it is followed
STEP_NS = 50_000_000  # the most that one look takes back


class Clock:
    """`now()` is the monotonic clock plus `offset`, which callers in a hurry may add themselves."""

    def __init__(self) -> None:
        self.offset = time.time_ns() - time.perf_counter_ns()
        self._asleep = _asleep_ns()
        self._tended = self._ahead_since = time.perf_counter_ns()

    def now(self) -> int:
        return time.perf_counter_ns() + self.offset

    def tend(self) -> int:
        """Follow the wall clock.

        Returns by how many nanoseconds the wall clock is behind, or 0.
        """
        ticks = time.perf_counter_ns()
        passed, self._tended = ticks - self._tended, ticks
        self._add_sleep()
        ahead = time.time_ns() - self.now()
        if ahead <= AHEAD_NS:
            self._ahead_since = ticks
        elif ticks - self._ahead_since > BELIEVE_NS:
            self.offset += ahead
        if ahead < -AHEAD_NS:
            self.offset -= min(-ahead, passed // 2, STEP_NS)
        return -ahead if ahead < -AHEAD_NS else 0

    def _add_sleep(self) -> None:
        """The monotonic clock stands still while the machine sleeps: that time has truly passed."""
        asleep = _asleep_ns()
        if asleep - self._asleep > AHEAD_NS:
            self.offset += asleep - self._asleep
            self._asleep = asleep


def _asleep_ns() -> int:
    """How long the machine has slept since it booted; 0 where the system does not say."""
    try:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    except (AttributeError, OSError):
        return 0
