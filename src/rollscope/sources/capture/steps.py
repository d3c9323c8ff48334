"""Which step the values of a call belong to, as the trackers count.

In W&B, a call without a step ends the current step. A call with a step stays in it, so that the
next call may add to it. A call with a later step begins that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


class Steps:
    def __init__(self) -> None:
        self.current = 0
        self._held: Row = {}  # values of calls with commit=False

    def take(self, row: Row, step: int | None = None, commit: bool | None = None) -> Iterator[tuple[int, Row]]:
        """The rows that can be written now, each with its step.

        A step that goes back is written where it belongs, and changes nothing else: W&B drops it.
        """
        if step is not None and step < self.current:
            yield step, row
            return
        if step is not None and step > self.current:
            yield from self.rest()
            self.current = step
        if commit is False:
            self._held |= row
            return
        row, self._held = self._held | row, {}
        yield self.current, row
        if commit or step is None:
            self.current += 1

    def rest(self) -> Iterator[tuple[int, Row]]:
        """What is still held when the step ends."""
        if self._held:
            yield self.current, self._held
            self._held = {}

    def drop(self) -> None:
        """Forget what is held."""
        self._held = {}


class Calls(Steps):
    """Steps of Trackio and SwanLab: every call is a step, the one after the highest so far."""

    def take(self, row: Row, step: int | None = None, commit: bool | None = None) -> Iterator[tuple[int, Row]]:
        at = self.current if step is None else step
        self.current = max(self.current, at + 1)
        yield at, row
