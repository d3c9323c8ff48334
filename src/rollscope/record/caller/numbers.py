"""Calls to `log` that hold more than Python numbers, or that come while many values wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope.record.loss import Losses
from rollscope.store.log.block import Labels

from .frozen import read
from .queue import MANY, NUMBERS, PACKED, FromDevice, Queue
from .row_format import RowFormats
from .value import floats, snapshot


class Numbers:
    """Puts numbers into the queue.

    `Run.log` handles the common case, a dict of Python numbers, itself.
    """

    __slots__ = ("_formats", "_losses", "_queue", "has_tensors")

    def __init__(self, queue: Queue, formats: RowFormats, losses: Losses) -> None:
        self.has_tensors = False  # this process has logged tensors
        self._queue = queue
        self._formats = formats
        self._losses = losses

    def put(self, metrics: Mapping[str, Any], step: int, time_ns: int, labels: Labels) -> None:
        """Put the values of a call as they are now, whatever they are."""
        values = read(metrics, self._losses.count, "a call of log")
        types = [*map(type, values.values())]
        if types.count(float) == len(types) and self._queue.cells < MANY:
            self._queue.cells += len(types)
            self._queue.put((NUMBERS, step, time_ns, values, labels))
            return
        numbers = floats([*values.values()], types)
        if numbers is not None:
            self.has_tensors |= types.count(float) < len(types)
            self.put_packed(values, numbers, step, time_ns, labels)
            return
        taken = snapshot(values, self._losses.count)
        self.has_tensors |= taken.tensors
        self._queue.cells += len(taken.ready)
        if taken.ready:
            self._queue.put((NUMBERS, step, time_ns, taken.ready, labels))
        for arriving in taken.arriving:
            self._queue.put(FromDevice(step, time_ns, arriving, labels))
        for name, description in taken.refused:
            self._losses.count("values", f"{name!r} was not a number but {description}")

    def put_packed(
        self, names: Mapping[str, Any], numbers: list[float], step: int, time_ns: int, labels: Labels
    ) -> None:
        """Pack numbers here: they are small while they wait, and little work for the drain."""
        queue = self._queue
        queue.cells += len(numbers)
        if queue.cells > MANY and not queue.press(len(numbers)):
            return
        if [*map(type, numbers)].count(float) == len(numbers):
            form = self._formats.of(tuple(names))
            queue.put((PACKED, step, time_ns, form, form.pack(step, time_ns, *numbers), labels))
        else:
            queue.put((NUMBERS, step, time_ns, dict(zip(names, numbers, strict=True)), labels))
