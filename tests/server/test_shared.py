"""Answers that many ask for at once are made once, and never older than the question."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rollscope.server.listing.shared import Shared

PATIENCE = 60.0


class Noted(dict[Any, Any]):
    """Tells of everybody who joins those that wait for an answer."""

    def __init__(self, joined: threading.Semaphore) -> None:
        super().__init__()
        self._joined = joined

    def setdefault(self, key: Any, default: Any = None) -> Any:
        found = super().setdefault(key, default)
        self._joined.release()
        return found


def test_who_asks_while_an_answer_is_made_shares_the_next_one() -> None:
    shared: Shared[int] = Shared()
    made, answers = list[int](), list[int]()
    begun, go = threading.Event(), threading.Event()

    def make() -> int:
        made.append(len(made))
        begun.set()
        assert go.wait(PATIENCE)
        return made[-1]

    def ask() -> None:
        answers.append(shared.get("key", make))

    first = threading.Thread(target=ask)
    first.start()
    assert begun.wait(PATIENCE)
    joined = threading.Semaphore(0)
    shared._wanted = Noted(joined)  # who comes now waits for the next one
    others = [threading.Thread(target=ask) for _ in range(5)]
    for other in others:
        other.start()
    for _ in others:
        assert joined.acquire(timeout=PATIENCE)
    go.set()
    for thread in (first, *others):
        thread.join(PATIENCE)
    assert made == [0, 1] and sorted(answers) == [0, 1, 1, 1, 1, 1]


def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    shared: Shared[str] = Shared()

    def fail() -> str:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        shared.get(1, fail)
    assert shared.get(1, lambda: "there") == "there"
