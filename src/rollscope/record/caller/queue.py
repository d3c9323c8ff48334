"""The queue between the training loop and the drain. It never blocks, never raises, and is bounded.

The caller appends to a deque. When many values wait, the caller packs its own numbers first, which
makes them small and slows it down a little: there is no other back-pressure. When memory is full,
rows are given up in this order: host samples, spans, token arrays, text; numbers last of all.

Numbers are the hot path, so they travel as plain tuples. Everything else is a named tuple, which is
faster to make than a frozen dataclass, or a `Span`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from time import monotonic, sleep
from typing import Any, NamedTuple

from rollscope.record.loss import Losses
from rollscope.store.log.block import Labels
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS

from .computing import Computing
from .device import Transfer
from .handover import Chunk
from .value import Arriving

BOUND = 256 << 20  # bytes that may wait
RETRY_SECONDS = 1.0
BIG = TEXT_COLUMNS | TOKEN_COLUMNS
MANY = 800_000  # values waiting: above this the caller packs its own row

NUMBERS = 0  # (NUMBERS, step, time_ns, values by name, labels)
PACKED = 1  # (PACKED, step, time_ns, row format, packed row, labels)


class FromDevice(NamedTuple):
    """Numbers of a call to `log` that are on their way from a device."""

    step: int
    time_ns: int
    arriving: Arriving
    labels: Labels


class Samples(NamedTuple):
    """Samples of a call to `log_samples`: chunks of samples, or one mapping of columns."""

    step: int
    time_ns: int
    samples: list[Chunk] | dict[str, Any]
    transfer: Transfer
    common: Mapping[str, Any]  # holds for every sample


class Rows(NamedTuple):
    """Rows of a table, ready to be written."""

    table: str
    rows: list[dict[str, Any]]


class Commit(NamedTuple):
    """A step is complete. `merged` replaces its values where they were merged over all ranks."""

    step: int
    time_ns: int
    clocks: dict[str, Any]
    merged: dict[str, Any] | None = None


class Queue:
    """What was handed over and is not written yet, and about how many bytes that is."""

    def __init__(self, losses: Losses, bound: int = BOUND) -> None:
        self.items: deque[Any] = deque()
        self.put: Callable[[Any], None] = self.items.append  # atomic, and all that a caller's thread does
        self.bound = bound
        self.cells = 0  # values handed over since the last take; approximate when threads race
        self.bytes = 0  # bytes handed over since the last take; as approximate
        self.sample_bytes = 2000  # of one sample, as the drain last measured it
        self.held = 0  # bytes the drain holds because the disk does not take them
        self.begun: deque[Any] = deque()  # spans that began since the drain last looked
        self._begin: Callable[[], None] | None = None  # starts a drain that waits for the first item
        self.computing = Computing()
        self.losses = losses
        self.wake = threading.Event()
        self.idle = False  # the drain sleeps for longer than between two flushes

    def press(self, values: int) -> bool:
        """Let the drain have the interpreter.

        False, and a loss, if there is no room for `values` more.
        """
        if not self.wake.is_set():
            self.wake.set()
        if self.cells > 4 * MANY:
            sleep(0)
        if self.numbers_full():
            self.losses.count("numbers", "memory was full while the store could not be written", values)
            return False
        return True

    def put_closed(self, item: Commit) -> None:
        """Put a commit and wake a drain that sleeps for long: a person may be watching.

        Any other comes by soon anyway.
        """
        self.put(item)
        if self.idle:
            self.wake.set()

    def put_samples(self, item: Samples) -> None:
        """Put samples and count their bytes.

        When memory is full they lose texts and token arrays.
        """
        chunks = item.samples
        count = sum(chunk.count for chunk in chunks) if isinstance(chunks, list) else 1
        self.bytes += count * self.sample_bytes
        if self.full() and isinstance(chunks, list):
            self.losses.count("texts and token arrays", "memory was full", count)
            item = item._replace(samples=[chunk.without(BIG) for chunk in chunks])
        self.put(item)

    def when_first(self, start: Callable[[], None]) -> None:
        """Call `start` before the first item is put: a forked child starts its drain then."""

        def begin() -> None:
            self.put, self._begin = self.items.append, None
            start()

        def first(item: Any) -> None:
            begin()
            self.put(item)

        self.put, self._begin = first, begin

    def announce(self, span: Any) -> None:
        """Let the drain know of a span that is under way, which may be the first it hears of."""
        if self._begin is not None:
            self._begin()
        self.begun.append(span)

    def until_started(self, start: Callable[[], bool]) -> None:
        """Call `start` when an item is put, at most once a second, until it returns True."""
        again = monotonic() + RETRY_SECONDS

        def put(item: Any) -> None:
            nonlocal again
            self.items.append(item)
            if monotonic() > again:
                again = monotonic() + RETRY_SECONDS
                if start():
                    self.put = self.items.append

        self.put = put

    def close(self) -> None:
        """Count every later item as lost."""
        self.put = lambda item: self.losses.count("calls", "the run was finished already")

    def full(self) -> bool:
        return self.bytes + self.held + self.cells * 8 > self.bound

    def numbers_full(self) -> bool:
        """Numbers are given up only when they alone would harm the training process."""
        return self.bytes + self.held + self.cells * 8 > 4 * self.bound

    def take(self) -> Iterator[Any]:
        """Everything that waits now, oldest first.

        Items come one at a time: freeing thousands at once would hold the interpreter for
        milliseconds.
        """
        self.cells = self.bytes = 0
        self.wake.clear()
        for _ in range(len(self.items)):
            try:
                yield self.items.popleft()
            except IndexError:  # finish() in a signal handler took them
                return
