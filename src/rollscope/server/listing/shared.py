"""One answer for all who ask for the same thing while it cannot be made yet.

An answer that many people poll is made once at a time. Who comes while one is made waits for the
next, together with all others who came since: nobody gets an answer that is older than their
question.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Wanted(Generic[Answer]):
    """An answer that some wait for: a list of it alone once it is made, or why it could not be."""

    made: list[Answer]
    error: BaseException | None = None


class Shared(Generic[Answer]):
    """Threads may ask at once."""

    def __init__(self) -> None:
        self._wanted: dict[Hashable, _Wanted[Answer]] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

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
        try:
            wanted.made.append(make())
        except BaseException as error:
            wanted.error = error
