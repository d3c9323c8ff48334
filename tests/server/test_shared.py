"""Answers that many ask for at once are made once, and no older than who asks allows."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from rollscope.server.listing.shared import LATE, MOST_KEPT, Shared, _Kept

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


def test_an_answer_of_a_moment_ago_will_do_for_who_says_so() -> None:
    shared: Shared[str] = Shared()
    assert shared.recent("key", lambda: "first", 3600.0) == "first"
    assert shared.recent("key", lambda: "second", 3600.0) == "first"
    assert shared.recent("other", lambda: "second", 3600.0) == "second"
    assert shared.get("key", lambda: "third") == "third"
    assert shared.recent("key", lambda: "fourth", 3600.0) == "third"
    assert shared.recent("key", lambda: "fifth", 0.0) == "fifth"


def test_one_waits_for_a_new_answer_and_the_others_have_the_old_one() -> None:
    shared: Shared[str] = Shared()
    seconds, answers = 3600.0, list[str]()
    shared._kept["key"] = _Kept("old", time.monotonic() - 2 * seconds)
    begun, go = threading.Event(), threading.Event()

    def make() -> str:
        begun.set()
        assert go.wait(PATIENCE)
        return "new"

    first = threading.Thread(target=lambda: answers.append(shared.recent("key", make, seconds)))
    first.start()
    assert begun.wait(PATIENCE)
    assert [shared.recent("key", make, seconds) for _ in range(3)] == ["old"] * 3
    shared._kept["key"] = _Kept("too old", time.monotonic() - LATE * seconds)
    late = threading.Thread(target=lambda: answers.append(shared.recent("key", make, seconds)))
    late.start()
    go.set()
    for thread in (first, late):
        thread.join(PATIENCE)
    assert answers == ["new", "new"]


def test_few_answers_are_kept() -> None:
    shared: Shared[int] = Shared()
    for key in range(MOST_KEPT * 3):
        shared.get(key, lambda key=key: key)  # type: ignore[misc]
        assert len(shared._kept) <= MOST_KEPT and shared._kept[key].answer == key


def test_an_error_is_not_kept_and_the_next_who_asks_tries_again() -> None:
    shared: Shared[str] = Shared()

    def fail() -> str:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        shared.recent("key", fail, 3600.0)
    assert shared.recent("key", lambda: "there", 3600.0) == "there"
