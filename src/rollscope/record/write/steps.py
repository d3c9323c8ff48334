"""Steps that are still open, for sinks that cannot merge.

A step closes at `commit`, when the step after the next begins, or at the end of the run. Then the
sinks get its merged values: within a writer partials add and plain numbers replace. The store does
not use this: it takes every value as it comes and merges on reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rollscope.catalog.partials.partial import Mean, Partial

LATER = 2  # a step closes when the step this much later begins


@dataclass(slots=True)
class Step:
    """An open step: when its first and last value came, its values, and its other clocks."""

    number: int
    first_ns: int
    last_ns: int
    values: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Its row of the `steps` table."""
        return {"step": self.number, "time_ns": self.first_ns, "end_ns": self.last_ns, **self.clocks}


class Steps:
    """The open steps of this writer. Values are kept only if `keep_values`."""

    def __init__(self, keep_values: bool = False) -> None:
        self.open: dict[int, Step] = {}
        self.keep_values = keep_values
        self.newest: int | None = None

    def touch(self, step: int, time_ns: int) -> Step:
        """The open step, with its last time moved forward."""
        entry = self.open.get(step)
        if entry is None:
            entry = self.open[step] = Step(step, time_ns, time_ns)
            if self.newest is None or step > self.newest:
                self.newest = step
        elif time_ns > entry.last_ns:
            entry.last_ns = time_ns
        return entry

    def add(self, step: int, time_ns: int, values: Mapping[str, Any]) -> None:
        entry = self.touch(step, time_ns)
        if self.keep_values:
            merge(entry.values, values)

    def close(self, step: int) -> Step | None:
        return self.open.pop(step, None)

    def due(self, computing: int | None = None) -> list[Step]:
        """Close the steps that later ones have made due, in order.

        Steps from `computing` on stay open.
        """
        if self.newest is None:
            return []
        last = self.newest - LATER if computing is None else min(self.newest - LATER, computing - 1)
        return [self.open.pop(step) for step in sorted(s for s in self.open if s <= last)]

    def close_all(self) -> list[Step]:
        steps = [self.open[step] for step in sorted(self.open)]
        self.open.clear()
        return steps


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Add partials of one kind; replace everything else."""
    for name, value in values.items():
        known = into.get(name)
        if isinstance(known, Partial) and isinstance(value, Partial) and known.kind == value.kind:
            value = known + value
        into[name] = value


def across(writers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the values of several writers: partials add, plain numbers average."""
    partials: dict[str, Any] = {}
    means: dict[str, Mean] = {}
    for values in writers:
        for name, value in values.items():
            if isinstance(value, Partial):
                merge(partials, {name: value})
            else:
                means[name] = means.get(name, Mean()) + Mean(float(value), 1.0)
    return partials | {name: mean.value for name, mean in means.items() if name not in partials}
