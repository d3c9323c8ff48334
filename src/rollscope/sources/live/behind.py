"""Work that a trainer does not wait for: a thread of ours does it, one batch after the other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from .quiet import print_once, quiet

WAITING = 2  # batches that may wait
PATIENCE = 10.0  # seconds that a trainer waits for them, before a batch is left out
SECONDS = 60.0  # that the end waits for the last batches


class Behind:
    """A thread that starts with the first piece of work. No error leaves it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, daemon=True, name=self._name)
            thread.start()  # where the system starts none, the next batch tries again
            self._thread = thread
        try:
            self._queue.put(quiet(work), timeout=PATIENCE)
        except queue.Full:
            print_once("rollscope: steps end faster than their text is decoded; samples of some are not recorded")

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            self._queue.task_done()
        self._queue.task_done()

    def settle(self) -> None:
        """Wait for the batches so far, for a bounded time, without a lock: a signal may call it."""
        until = time.monotonic() + PATIENCE
        while self._queue.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.01)

    @quiet
    def close(self) -> None:
        """Wait for the last batches, for a bounded time."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None, timeout=SECONDS)
            thread.join(SECONDS)
