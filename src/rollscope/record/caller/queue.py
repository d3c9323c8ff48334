"""The hand-over between the training loop and the thread that writes. It never blocks, never raises, and is bounded.

The caller appends to a deque. When much is waiting it packs its own numbers first, which makes them small and slows it down a little: that is all
the back-pressure there is. What cannot be held is given up in an order: host samples, spans, token arrays, text; numbers last of all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import sleep
from typing import Any

from rollscope.record.loss import Losses
from rollscope.store.schema import TEXT_COLUMNS, TOKEN_COLUMNS

BOUND = 256 << 20  # bytes that may wait
BIG = TEXT_COLUMNS | TOKEN_COLUMNS
MANY = 800_000  # values waiting: above this the caller packs its own row
CELL = 72  # bytes of a name's slot and a float in a copied dict

NUMBERS, ROW, MIXED, ARRIVING, SPAN, SAMPLES, ROWS, COMMIT = range(8)


class Queue:
    def __init__(self, losses: Losses, bound: int = BOUND) -> None:
        self.items: deque[Any] = deque()
        self.put: Callable[[Any], None] = self.items.append  # atomic, and all that a caller's thread does
        self.bound = bound
        self.cells = 0  # values handed over since the last take; approximate when threads race
        self.bytes = 0  # bytes handed over since the last take; as approximate
        self.sample_bytes = 2000  # of one sample, lately
        self.held = 0  # bytes the drain holds because the disk will not take them
        self.computing: dict[int, int] = {}  # step -> batches of it that are being computed
        self.losses = losses
        self.wake = threading.Event()
        self.idle = False  # the drain sleeps for longer than between two flushes

    def press(self, values: int) -> bool:
        """Much is waiting: let the drain have the interpreter. False when there is no room left, which is counted."""
        if not self.wake.is_set():
            self.wake.set()
        if self.cells > 4 * MANY:
            sleep(0)
        if self.numbers_full():
            self.losses.count("numbers", "memory was full while the store could not be written", values)
            return False
        return True

    def put_closed(self, item: tuple[Any, ...]) -> None:
        """A step is closed, and somebody may be watching: a drain that sleeps because nothing came is woken, once; one at work comes by soon anyway."""
        self.put(item)
        if self.idle:
            self.wake.set()

    def put_samples(self, item: tuple[Any, ...]) -> None:
        """Samples bring their size with them, as the drain has lately found it; when memory is full they come without text."""
        _, step, time_ns, samples, transfer, same = item
        count = sum(piece.count for piece in samples) if isinstance(samples, list) else 1
        self.bytes += count * self.sample_bytes
        if self.full() and isinstance(samples, list):
            samples = [piece.without(BIG) for piece in samples]
            self.losses.count("texts and token arrays", "memory was full", count)
            item = (SAMPLES, step, time_ns, samples, transfer, same)
        self.put(item)

    def when_first(self, start: Callable[[], None]) -> None:
        """Call `start` when something is first put: what a forked child does."""

        def first(item: Any) -> None:
            self.put = self.items.append
            start()
            self.put(item)

        self.put = first

    def closed(self) -> None:
        """Whatever comes now is too late."""
        self.put = lambda item: self.losses.count("calls", "the run was finished already")

    def full(self) -> bool:
        return self.bytes + self.held + self.cells * 8 > self.bound

    def numbers_full(self) -> bool:
        """Numbers are given up only when they alone would harm the training process."""
        return self.bytes + self.held + self.cells * 8 > 4 * self.bound

    def take(self) -> Iterator[Any]:
        """Everything that waits now, oldest first, one at a time: letting go of thousands at once would hold the interpreter for milliseconds."""
        self.cells = self.bytes = 0
        self.wake.clear()
        for _ in range(len(self.items)):
            try:
                yield self.items.popleft()
            except IndexError:  # another take was faster: finish() in a signal handler
                return
