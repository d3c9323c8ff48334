"""Losses: what the recorder could not keep.

Each loss is counted, written into the run as a note of kind `loss`, and printed once on stderr.
Reasons are short and few, whatever was lost: odd values cannot fill memory or the training log.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, cast

from rollscope.visible import visible

MOST_REASONS = 64  # for one kind of loss; later ones count together
LONGEST_REASON = 300  # characters
Lose = Callable[[str, str], None]  # what was lost, and why
ODD = (Exception, SystemExit)  # what an odd value of the caller may raise when it is read


class Losses:
    """Counts per (what, why). Any thread may count; the drain writes the new counts down."""

    def __init__(self) -> None:
        self.total: dict[tuple[str, str], int] = {}
        self._new: dict[tuple[str, str], int] = {}
        self._reasons: dict[str, int] = {}  # what -> how many different reasons so far
        self._printed: set[str] = set()
        self._lost = False  # something that the store should hold, since the last look
        self._lock = threading.RLock()

    def count(self, what: str, why: str, number: int = 1, of_store: bool = True) -> None:
        """Count a loss. Without `of_store`, the run's files hold all that they were asked to."""
        with self._lock:
            self._lost |= of_store
            key = self._key(what, why[:LONGEST_REASON])
            self._new[key] = self._new.get(key, 0) + number
            self.total[key] = self.total.get(key, 0) + number
        self.say(_sentence(number, *key), key=": ".join(key))

    def _key(self, what: str, why: str) -> tuple[str, str]:
        if (what, why) in self.total:
            return what, why
        if self._reasons.get(what, 0) >= MOST_REASONS:
            return what, "for other reasons"
        self._reasons[what] = self._reasons.get(what, 0) + 1
        return what, why

    def say(self, text: str, key: str | None = None) -> None:
        """Print once per key on stderr, so that the training log does not fill up."""
        with self._lock:
            if (key or text) in self._printed:
                return
            self._printed.add(key or text)
        try:
            print(visible(f"rollscope: {text}"), file=sys.stderr, flush=True)
        except Exception:  # a closed stderr is no reason to stop
            return

    def none_since_last_look(self) -> bool:
        """True if the store lost nothing since this was last asked."""
        with self._lock:
            lost, self._lost = self._lost, False
        return not lost

    def notes(self, time_ns: int) -> list[dict[str, Any]]:
        """Rows of `notes` for the losses since the last call."""
        with self._lock:
            new, self._new = self._new, {}
        return [
            {
                "time_ns": time_ns,
                "kind": "loss",
                "text": _sentence(count, what, why),
                "data": {"what": what, "why": why, "count": count},
            }
            for (what, why), count in new.items()
        ]


def _sentence(number: int, what: str, why: str) -> str:
    return f"{number} {what} not kept: {why}"


def one_line(error: BaseException) -> str:
    """An exception in one short line, even if it holds values that cannot be printed."""
    try:
        return repr(error)[:LONGEST_REASON]
    except ODD:
        return type(error).__name__


class _HasLosses(Protocol):
    _losses: Losses


Arguments = ParamSpec("Arguments")
Method = Callable[Arguments, None]


def never_raises(what: str) -> Callable[[Method[Arguments]], Method[Arguments]]:
    """Decorate a method: an exception counts as one lost `what` and does not reach the caller."""

    def wrap(method: Method[Arguments]) -> Method[Arguments]:
        @wraps(method)
        def quiet(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
            try:
                method(*args, **kwargs)
            except ODD as error:
                cast(_HasLosses, args[0])._losses.count(what, one_line(error))

        return quiet

    return wrap
