"""Where rows go. A sink is two methods; it may be slow and it may raise: `record/` owns threads, retries and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was recorded: `table` is a name in `store.schema.TABLES`, `data` its columns.

    For `metrics` there is one row per closed step: `data` maps each name to a float, an int or a partial, merged over this
    writer's micro-batches (and over ranks where `run.reduce(step)` was called).
    """

    table: str
    step: int | None
    time_ns: int
    data: Mapping[str, Any] = field(default_factory=dict)


class Sink(Protocol):
    def write(self, rows: Sequence[Row]) -> None: ...

    def close(self) -> None: ...
