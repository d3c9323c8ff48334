"""Work beside a trainer: done in order, and never waited for where no thread can do it."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from rollscope.sources.live.behind import Behind


def test_work_is_done_in_order_and_an_error_ends_nothing() -> None:
    done: list[int] = []
    behind = Behind("rollscope-test")

    def work(number: int) -> None:
        if number == 3:
            raise ValueError(number)
        done.append(number)

    for number in range(10):
        behind.put(partial(work, number))
    behind.close()
    assert done == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_thread_that_could_not_start_is_tried_again_with_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    behind = Behind("rollscope-test")
    with monkeypatch.context() as patch:

        def refuse(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                behind.put(lambda: done.append("lost"))
    behind.put(lambda: done.append("kept"))
    behind.close()
    assert done == ["kept"]
