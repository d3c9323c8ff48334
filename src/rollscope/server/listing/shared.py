"""One answer for all who ask for the same thing while it cannot be made yet.

An answer that many people poll is made once at a time. Who comes while one is made waits for the
next, together with all others who came since: nobody gets an answer that is older than their
question. In a crowd an answer that is a little older will do, and then only who finds it too old
waits: for all others it is made in the meantime.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
MOST_KEPT = 2  # answers: a list of ten thousand runs has megabytes
LATE = 5  # times as old as an answer may be: who then waits for the next one, waits


@dataclass(slots=True)
class _Wanted(Generic[Answer]):
    """An answer that some wait for: a list of it alone once it is made, or why it could not be."""

    made: list[Answer]
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Answer]):
    answer: Answer
    begun: float  # when its making began


class Shared(Generic[Answer]):
    """Threads may ask at once."""

    def __init__(self) -> None:
        self._wanted: dict[Hashable, _Wanted[Answer]] = {}
        self._kept: dict[Hashable, _Kept[Answer]] = {}
        self._renewed: set[Hashable] = set()  # questions whose kept answers are being renewed
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def recent(self, key: Hashable, make: Callable[[], Answer], seconds: float) -> Answer:
        """The answer to a question: one that was begun so many seconds ago at most.

        While that one is made for somebody else, the one before it.
        """
        with self._lock:
            kept = self._kept.get(key)
            age = float("inf") if kept is None else time.monotonic() - kept.begun
            if kept is not None and age < (seconds * LATE if key in self._renewed else seconds):
                return kept.answer
            self._renewed.add(key)
        try:
            return self.get(key, make)
        finally:
            with self._lock:
                self._renewed.discard(key)

    def get(self, key: Hashable, make: Callable[[], Answer]) -> Answer:
        """The answer to a question: one that was begun after this call."""
        with self._lock:
            wanted = self._wanted.setdefault(key, _Wanted([]))
        with self._turn:
            if not wanted.made and wanted.error is None:
                self._make(key, wanted, make)
        if wanted.error is not None:
            raise wanted.error
        return wanted.made[0]

    def _make(self, key: Hashable, wanted: _Wanted[Answer], make: Callable[[], Answer]) -> None:
        with self._lock:
            del self._wanted[key]  # who comes now waits for the next one
        begun = time.monotonic()
        try:
            wanted.made.append(make())
        except BaseException as error:
            wanted.error = error
        else:
            self._keep(key, _Kept(wanted.made[0], begun))

    def _keep(self, key: Hashable, kept: _Kept[Answer]) -> None:
        with self._lock:
            if key not in self._kept and len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = kept
