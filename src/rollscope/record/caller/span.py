"""Spans: who did what, from when to when. They are cheap: two clock readings and one append.

Spans nest by context, which threads and asyncio tasks have each for themselves. The parent of a
span is the span that was open where it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rollscope.record.loss import ODD, Lose, one_line

from .device_time import device_times
from .frozen import SAFE, frozen_row
from .label import text

if TYPE_CHECKING:
    from rollscope.record.run import Run

_OPEN: ContextVar[Span | None] = ContextVar("rollscope_span", default=None)
FIELDS = ("microbatch", "minibatch", "group", "sample")
LINKS: dict[str, type | tuple[type, ...]] = {
    "version": int,
    "queued_ns": int,
    "causes": (list, tuple, str),
}  # columns only for values of these types
COST = 400  # bytes of a span that waits


class Span:
    """Use with `with` or `async with`. Facts that turn up while it runs may be put into `data`.

    Lane and step are those given, else those of the span around it, else the run's own. A span is
    part of its run and reads the run's private fields: a method call would cost as much as the
    clock.
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
        run = self._run
        self.id = next(run._ids)
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
        run._begins(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end = perf_counter_ns()
            if self._device and not self._device.finish():
                self._device = None
            if kind is not None:
                self.data["error"] = kind.__name__
            try:
                _OPEN.reset(self._token)  # type: ignore[arg-type]
            except ValueError:  # the span ends in another context than it began in
                _OPEN.set(self.parent)
            run = self._run
            if self.step is None:
                self.step = run._step
            for value in self.data.values():
                if type(value) not in SAFE:
                    self.data = frozen_row(self.data, run._losses.count, "a span")
                    break
            queue = run._queue
            queue.bytes += COST
            if queue.bytes > queue.bound and queue.full():
                queue.losses.count("spans", "memory was full")
                return
            queue.put(self)
        except Exception as problem:
            self._run._losses.count("spans", one_line(problem))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def announce(self, start_ns: int | None = None) -> Self:
        """Show it as under way until `over()`, since a wall-clock time or now.

        What measures it records it, with `log_span`.
        """
        self.id = next(self._run._ids)
        self.start = perf_counter_ns() if start_ns is None else start_ns - self._run._clock.offset
        self._run._queue.announce(self)
        return self

    def over(self) -> None:
        self.end = perf_counter_ns()

    @property
    def key(self) -> str:
        """Its name in the whole run, for `causes` of spans that wait for it, in any process."""
        return f"{self._run._recorder.writer}:{self.id}"

    @property
    def resolved(self) -> bool:
        """Are its times known? Those of work on a device are not until the device is done."""
        return not self._device or self._device.has_ended()

    def open_row(self, offset_ns: int) -> dict[str, Any]:
        """What is known of it while it runs."""
        lose = self._run._losses.count
        row = _labels(self.name, self.lane or self._run._recorder.lane, self.kind, lose)
        known = {"sample": text(self.data["sample"], lose)} if self.data.get("sample") is not None else {}
        return (
            row
            | known
            | {"start_ns": self.start + offset_ns, "step": self._run._step if self.step is None else self.step}
        )

    def row(self, offset_ns: int, lane: str, rank: int) -> dict[str, Any]:
        """Its row in the store.

        `offset_ns` is added to the monotonic clock to get the wall clock.
        """
        lose = self._run._losses.count
        if self._device:
            start, end = self._device.times(offset_ns)
        else:
            start, end = self.start + offset_ns, self.end + offset_ns
        row = _labels(self.name, self.lane or lane, self.kind, lose)
        row |= {"id": self.id, "start_ns": start, "end_ns": end, "step": self.step, "rank": rank}
        if self.parent is not None:
            row["parent"] = self.parent.id
        return row | _columns(self.data, lose)


def put_measured(run: Run, name: Any, lane: Any, kind: Any, times: tuple[Any, Any], step: int | None, data: Any) -> str:
    """Record a span that was measured elsewhere; return its key. Counts it as lost if it is odd."""
    id, recorder, lose = next(run._ids), run._recorder, run._losses.count
    try:
        row = _labels(name, lane or recorder.lane, kind, lose)
        row |= {"id": id, "start_ns": int(times[0]), "end_ns": int(times[1]), "rank": recorder.shard}
        run._put("spans", row | {"step": run._step if step is None else step} | _columns(data, lose))
    except ODD as problem:
        lose("spans", one_line(problem))
    return f"{recorder.writer}:{id}"


def _labels(name: Any, lane: Any, kind: Any, lose: Lose) -> dict[str, Any]:
    """Who did what, as text."""
    return {"name": text(name, lose), "lane": text(lane, lose), "kind": text(kind, lose)}


def _columns(data: Mapping[str, Any], lose: Lose) -> dict[str, Any]:
    """The facts of a span that have columns of their own, and the rest under `data`."""
    if not data:
        return {}
    row: dict[str, Any] = {key: data[key] for key in FIELDS if data.get(key) is not None}
    for key in row.keys() & {"group", "sample"}:
        row[key] = text(row[key], lose)
    links = {
        key: data[key] for key, types in LINKS.items() if isinstance(data.get(key), types) and data[key] is not True
    }
    if "causes" in links:
        causes = [links["causes"]] if isinstance(links["causes"], str) else links["causes"]
        links["causes"] = [text(key, lose) for key in causes]
    rest = {key: value for key, value in data.items() if key not in FIELDS and key not in links}
    return row | links | ({"data": rest} if rest else {})
