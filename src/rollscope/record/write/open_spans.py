"""Name the spans that have been open for a while, so that a reader sees what a lane does now."""

from __future__ import annotations

import contextlib
from time import perf_counter_ns
from typing import Any, Protocol

from rollscope.record.caller.queue import Queue
from rollscope.record.clock import Clock

from .log_files import LogFiles

EVERY_SECONDS = 1.0
OLD_NS = 1_000_000_000  # most spans end before, and cost nothing
MOST = 200  # spans of a process that are named
MOST_OPEN = 10_000  # beyond, the oldest are forgotten: nobody will end them


class Begun(Protocol):
    """A span that has begun, by the monotonic clock, and its row so far. It has an `end` later."""

    id: int
    start: int

    def open_row(self, offset_ns: int) -> dict[str, Any]: ...


class OpenSpans:
    def __init__(self, queue: Queue, files: LogFiles, clock: Clock) -> None:
        self._begun, self._files, self._clock = queue.begun, files, clock
        self._open: list[Begun] = []
        self._next = 0.0
        self._named: list[int] = []

    def tend(self, now: float) -> None:
        """Rewrite the file if other spans are open than before."""
        self._take()
        if now < self._next:
            return
        self._next = now + EVERY_SECONDS
        self._open = [span for span in self._open if not hasattr(span, "end")][-MOST_OPEN:]
        before = perf_counter_ns() - OLD_NS
        old = [span for span in self._open if span.start < before][:MOST]
        if [span.id for span in old] != self._named:
            self._name(old)

    def _take(self) -> None:
        """Keep what has begun and not ended already."""
        begun = self._begun
        for _ in range(len(begun)):
            span = begun.popleft()
            if not hasattr(span, "end"):
                self._open.append(span)

    def end(self) -> None:
        """Nothing is open any more."""
        if self._named:
            self._name([])

    def _name(self, spans: list[Begun]) -> None:
        with contextlib.suppress(OSError):  # tried again; a disk that is full shows no live edge meanwhile
            self._files.name_open([{"id": span.id, **span.open_row(self._clock.offset)} for span in spans])
            self._named = [span.id for span in spans]
