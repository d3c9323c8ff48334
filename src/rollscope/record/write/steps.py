"""Steps while they are open. A step closes at `commit`, when the one after the next is heard of, or at the end; then it goes to the sinks, merged.

Within a writer partials add and plain numbers replace. The store takes every value as it comes and merges on reading; this is for sinks that cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rollscope.catalog.partials.partial import Mean, Partial

LATER = 2  # a step is closed when this many later ones have begun


@dataclass(slots=True)
class Step:
    number: int
    first_ns: int
    last_ns: int
    values: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """A row of the `steps` table."""
        return {"step": self.number, "time_ns": self.first_ns, "end_ns": self.last_ns, **self.clocks}


class Steps:
    """The open steps of this writer. `keep_values` only where somebody will ask for them."""

    def __init__(self, keep_values: bool = False) -> None:
        self.open: dict[int, Step] = {}
        self.keep_values = keep_values
        self.newest: int | None = None

    def heard(self, step: int, time_ns: int) -> Step:
        found = self.open.get(step)
        if found is None:
            found = self.open[step] = Step(step, time_ns, time_ns)
            if self.newest is None or step > self.newest:
                self.newest = step
        elif time_ns > found.last_ns:
            found.last_ns = time_ns
        return found

    def add(self, step: int, time_ns: int, values: Mapping[str, Any]) -> None:
        found = self.heard(step, time_ns)
        if self.keep_values:
            merge(found.values, values)

    def close(self, step: int) -> Step | None:
        return self.open.pop(step, None)

    def due(self, computing: int | None = None) -> list[Step]:
        """Steps that later ones have closed, in order; none from the one on that is still being computed."""
        if self.newest is None:
            return []
        last = self.newest - LATER if computing is None else min(self.newest - LATER, computing - 1)
        return [self.open.pop(step) for step in sorted(s for s in self.open if s <= last)]

    def rest(self) -> list[Step]:
        steps = [self.open[step] for step in sorted(self.open)]
        self.open.clear()
        return steps


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Partials of one kind add, everything else replaces."""
    for name, value in values.items():
        known = into.get(name)
        into[name] = (
            known + value
            if isinstance(known, Partial) and isinstance(value, Partial) and known.kind == value.kind
            else value
        )


def across(writers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One mapping from those of several writers: partials add, plain numbers average."""
    found: dict[str, Any] = {}
    plain: dict[str, Mean] = {}
    for values in writers:
        for name, value in values.items():
            if isinstance(value, Partial):
                merge(found, {name: value})
            else:
                plain[name] = plain.get(name, Mean()) + Mean(float(value), 1.0)
    return found | {name: mean.value for name, mean in plain.items() if name not in found}
