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
MOST_BEGUN = 10_000  # beyond, the oldest are forgotten: nobody will end them


class Begun(Protocol):
    """An open span: when it began, by the monotonic clock, and its row so far."""

    start: int

    def open_row(self, offset_ns: int) -> dict[str, Any]: ...


class OpenSpans:
    def __init__(self, queue: Queue, files: LogFiles, clock: Clock) -> None:
        self._begun, self._files, self._clock = queue.begun, files, clock
        self._next = 0.0
        self._named: list[int] = []

    def tend(self, now: float) -> None:
        """Rewrite the file if other spans are open than before."""
        if now < self._next:
            return
        self._next = now + EVERY_SECONDS
        while len(self._begun) > MOST_BEGUN:
            self._begun.pop(next(iter(self._begun)), None)
        before = perf_counter_ns() - OLD_NS
        old = [(id, span) for id, span in list(self._begun.items()) if span.start < before][:MOST]
        if [id for id, _ in old] != self._named:
            self._write([{"id": id, **span.open_row(self._clock.offset)} for id, span in old])
            self._named = [id for id, _ in old]

    def end(self) -> None:
        """Nothing is open any more."""
        if self._named:
            self._write([])

    def _write(self, rows: list[dict[str, Any]]) -> None:
        with contextlib.suppress(OSError):  # a disk that is full shows no live edge; the log says more
            self._files.name_open(rows)
