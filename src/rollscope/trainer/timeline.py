"""Measure spans on one lane. A worker sends its spans to the trainer, which records them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol


class Begun(Protocol):
    """Shows a span while it lasts."""

    def over(self) -> None: ...


Begins = Callable[[str, str, str, int | None], Begun]  # name, lane, kind and step of a span


@dataclass(slots=True)
class Span:
    name: str
    lane: str
    start_ns: int
    end_ns: int
    kind: str = "work"
    step: int | None = None
    microbatch: int | None = None
    minibatch: int | None = None
    groups: list[str] | None = None  # the groups whose samples it worked on
    group: str | None = None
    sample: str | None = None
    version: int | None = None  # of the weights it used, or brought
    queued_ns: int | None = None  # when its request was submitted
    causes: list[str] | None = None  # keys of spans that had to end first

    def columns(self) -> dict[str, Any]:
        """The fields that have a value."""
        return {key: value for key, value in asdict(self).items() if value is not None}


class Timeline:
    """A lane. `begins` hears of each span when it begins; `emit` gets it when it ends."""

    def __init__(self, lane: str, emit: Callable[[Span], object], begins: Begins | None = None) -> None:
        self.lane, self.emit, self.begins = lane, emit, begins
        self.seconds: dict[str, float] = {}  # by span name, since the last `lap`

    @contextmanager
    def span(self, name: str, kind: str = "work", **more: Any) -> Iterator[None]:
        begun = self.begins(name, self.lane, kind, more.get("step")) if self.begins is not None else None
        start = time.time_ns()
        try:
            yield
        finally:
            end = time.time_ns()
            if begun is not None:
                begun.over()
            self.seconds[name] = self.seconds.get(name, 0.0) + (end - start) / 1e9
            self.emit(Span(name, self.lane, start, end, kind, **more))

    def lap(self) -> dict[str, float]:
        """Seconds per span name since the last call."""
        seconds, self.seconds = self.seconds, {}
        return seconds
