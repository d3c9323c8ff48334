"""Spans: who did what from when to when. Cheap enough to leave on: two clock readings and one hand-over.

Spans nest by context (threads and asyncio tasks each have their own), so a parent is whatever span was open where this one began.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .device_time import device_times
from .queue import SPAN

if TYPE_CHECKING:
    from rollscope.record.run import Run

_OPEN: ContextVar[Span | None] = ContextVar("rollscope_span", default=None)
FIELDS = ("microbatch", "minibatch", "group", "sample")
COST = 400  # bytes one waits with


class Span:
    """Use with `with`, or `async with`. Facts that turn up while it runs may be put into `data`.

    Its lane and step are the ones given, else those of the span around it, else the run's own.
    """

    __slots__ = ("_device", "_run", "_token", "data", "end", "id", "kind", "lane", "name", "parent", "start", "step")

    def __init__(
        self, run: Run, name: str, lane: str | None, kind: str, step: int | None, device: bool, data: dict[str, Any]
    ) -> None:
        self._run = run
        self.name = name
        self.lane = lane
        self.kind = kind
        self.step = step
        self.data = data
        self._device: Any = device
        self._token: Token[Span | None] | None = None

    def __enter__(self) -> Self:
        self.id = next(self._run._ids)
        self.parent = parent = _OPEN.get()
        self._token = _OPEN.set(self)
        if parent is not None:
            if self.lane is None:
                self.lane = parent.lane
            if self.step is None:
                self.step = parent.step
        if self._device:
            self._device = device_times()
        self.start = perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end = perf_counter_ns()
        if self._device and not self._device.finish():
            self._device = None
        if kind is not None:
            self.data["error"] = kind.__name__
        try:
            _OPEN.reset(self._token)  # type: ignore[arg-type]
        except ValueError:  # left in another context than it was entered in
            _OPEN.set(self.parent)
        if self.step is None:
            self.step = self._run._step
        queue = self._run._queue
        queue.bytes += COST
        if queue.bytes > queue.bound and queue.full():
            queue.losses.count("spans", "memory was full")
            return
        queue.put((SPAN, self))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @property
    def resolved(self) -> bool:
        return not self._device or self._device.has_ended()

    def row(self, offset_ns: int, lane: str, rank: int) -> dict[str, Any]:
        """The store's row. `offset_ns` brings the monotonic clock to the wall clock."""
        start, end = (
            (self.start + offset_ns, self.end + offset_ns) if not self._device else self._device.times(offset_ns)
        )
        row = {
            "id": self.id,
            "name": self.name,
            "lane": self.lane or lane,
            "kind": self.kind,
            "start_ns": start,
            "end_ns": end,
            "step": self.step,
            "rank": rank,
        }
        if self.parent is not None:
            row["parent"] = self.parent.id
        return row | named(self.data)


def named(data: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a span that have names of their own, and the rest under `data`."""
    if not data:
        return {}
    row: dict[str, Any] = {key: data[key] for key in FIELDS if data.get(key) is not None}
    for key in row.keys() & {"group", "sample"}:
        row[key] = str(row[key])
    rest = {key: value for key, value in data.items() if key not in FIELDS}
    return row | {"data": rest} if rest else row
