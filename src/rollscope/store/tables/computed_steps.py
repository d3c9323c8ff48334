"""Statistics of the steps that a reader computed itself, in a handful of tables.

A table per step would take more memory for its columns than for its numbers. Tables of new steps
are joined as they grow, like the digits of a binary counter, so that a new step seldom costs more
than itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.live import paged
from rollscope.store.numbers.rows import Ints


@dataclass(frozen=True, slots=True)
class _Part:
    steps: Ints
    table: pa.Table


class ComputedSteps:
    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, steps: Sequence[int], table: pa.Table) -> None:
        """Add the statistics of steps that are not here."""
        self._parts.append(_Part(np.array(steps, np.int64), _ascending(table)))
        while len(self._parts) > 1 and len(self._parts[-2].steps) < 2 * len(self._parts[-1].steps):
            last, before = self._parts.pop(), self._parts.pop()
            self._parts.append(_Part(np.concatenate([before.steps, last.steps]), _joined([before.table, last.table])))

    def drop(self, steps: Ints) -> None:
        """Forget steps: they changed, or other statistics count for them."""
        kept = [_without(part, steps) if np.isin(steps, part.steps).any() else part for part in self._parts]
        self._parts = [part for part in kept if len(part.steps)]

    def table(self) -> pa.Table | None:
        """The statistics of all steps in their order; None if there are none."""
        parts = [part.table for part in self._parts if len(part.table)]
        if not parts:
            return None
        return _ascending(pa.concat_tables(parts).unify_dictionaries())  # of a run that goes on, nothing is copied


def _ascending(rows: pa.Table) -> pa.Table:
    """The rows in the order of their steps."""
    steps = arrow.filled(rows["step"], 0)
    return rows if (np.diff(steps) >= 0).all() else rows.take(pa.array(np.argsort(steps, kind="stable")))


def _joined(tables: list[pa.Table]) -> pa.Table:
    return paged.table(_ascending(pa.concat_tables(tables).unify_dictionaries().combine_chunks()))


def _without(part: _Part, steps: Ints) -> _Part:
    gone = np.isin(arrow.filled(part.table["step"], 0), steps)
    return _Part(part.steps[~np.isin(part.steps, steps)], part.table.filter(pa.array(~gone)).combine_chunks())
