"""Answers that many ask for at once are made once, and never older than the question."""

from __future__ import annotations

import threading
import time

import pytest

from rollscope.server.listing.shared import Shared

PATIENCE = 60.0


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
    others = [threading.Thread(target=ask) for _ in range(5)]
    assert not shared._wanted  # who comes now waits for the next one
    for other in others:
        other.start()
    until = time.monotonic() + PATIENCE
    while not shared._wanted:  # until one of them waits
        assert time.monotonic() < until
        time.sleep(0.001)
    joined = shared._wanted["key"]
    go.set()
    for thread in (first, *others):
        thread.join(PATIENCE)
    assert sorted(answers)[0] == 0 and answers.count(0) == 1 and joined.made == [1]
    assert len(made) <= 1 + len(others) and set(answers) == set(made)


def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    shared: Shared[str] = Shared()

    def fail() -> str:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        shared.get(1, fail)
    assert shared.get(1, lambda: "there") == "there"
