"""Where rows go beside the store: files and other people's trackers.

A sink has two methods. It may be slow and it may raise: `record/` owns threads, retries and losses.
Door: `Row` and `Sink` here, `registry` (sinks by name), `login` (is W&B set up).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded row: `table` is a name in `store.schema.TABLES`, `data` holds its columns.

    For `metrics` there is one row per closed step: `data` maps each name to a float, an int or a
    partial, merged over this writer's micro-batches, and over ranks if `run.reduce(step)` was
    called.
    """

    table: str
    step: int | None
    time_ns: int
    data: Mapping[str, Any] = field(default_factory=dict)


class Sink(Protocol):
    """Where rows go. `write` may raise; it is then called again with the same rows."""

    def write(self, rows: Sequence[Row]) -> None: ...

    def close(self) -> None: ...
