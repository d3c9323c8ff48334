"""The steps that wait for the metrics of a batch."""

from __future__ import annotations

import threading
from collections import deque


class Computing:
    """Counts the batches of each step whose metrics the drain does not have yet.

    A batch is computed before its metrics are taken from the queue. So the drain asks which ones
    have `ended` before it takes what waits, and forgets them after that: their metrics were in it.
    """

    def __init__(self) -> None:
        self._batches: dict[int, int] = {}
        self._ended: deque[tuple[int, int]] = deque()
        self._lock = threading.RLock()  # a signal may end the run in the thread that holds it

    def begin(self, step: int) -> None:
        """A batch of this step was handed over."""
        with self._lock:
            self._batches[step] = self._batches.get(step, 0) + 1

    def end(self, step: int, batches: int) -> None:
        """All metrics of so many batches of this step lie in the queue."""
        self._ended.append((step, batches))

    def ended(self) -> list[tuple[int, int]]:
        """What has ended since the last call."""
        return [self._ended.popleft() for _ in range(len(self._ended))]

    def forget(self, ended: list[tuple[int, int]]) -> None:
        """The drain has the metrics of these batches."""
        with self._lock:
            for step, batches in ended:
                left = self._batches.get(step, 0) - batches
                if left > 0:
                    self._batches[step] = left
                else:
                    self._batches.pop(step, None)

    @property
    def first(self) -> int | None:
        """The earliest step that waits."""
        return min(list(self._batches), default=None)

    def __contains__(self, step: object) -> bool:
        return step in self._batches

    def __bool__(self) -> bool:
        return bool(self._batches)
