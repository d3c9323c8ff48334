"""Spans of one lane: who did what, from when to when. A worker collects them and sends them home; the trainer hands them to the recorder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any


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
    groups: list[str] | None = None  # whose samples it worked on

    def said(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


class Timeline:
    def __init__(self, lane: str, emit: Callable[[Span], object]) -> None:
        self.lane, self.emit = lane, emit
        self.seconds: dict[str, float] = {}  # of this lane since the last `lap`

    @contextmanager
    def span(self, name: str, kind: str = "work", **more: Any) -> Iterator[None]:
        start = time.time_ns()
        try:
            yield
        finally:
            end = time.time_ns()
            self.seconds[name] = self.seconds.get(name, 0.0) + (end - start) / 1e9
            self.emit(Span(name, self.lane, start, end, kind, **more))

    def lap(self) -> dict[str, float]:
        """Seconds per name since the last call."""
        spent, self.seconds = self.seconds, {}
        return spent
