"""Spans on slots of units that have spans of their own: what a request consisted of."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .rows import NONE, Rows


class Slots:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def ends(self, unit: str, lo: int, hi: int) -> list[int]:
        """When each sample was done, of those that a unit began within a stretch."""
        rows, units, ends = self._rows, self._units, {}
        for x in range(self._first(lo), self._last(hi)):
            if rows.start[x] >= lo and units[rows.lane[x]] == unit:
                ends[int(rows.sample[x])] = int(rows.end[x])
        return list(ends.values())

    def longest(self, unit: str, lo: int, hi: int) -> tuple[str, str] | None:
        """Lane and sample of the slot that worked longest within a stretch."""
        rows, units = self._rows, self._units
        within = [x for x in range(self._first(lo), self._last(hi)) if rows.end[x] > lo and units[rows.lane[x]] == unit]
        if not within:
            return None
        best = max(within, key=lambda x: (min(int(rows.end[x]), hi), -int(rows.start[x])))
        code = int(rows.sample[best])
        return rows.lanes[rows.lane[best]], "" if code == NONE else rows.samples[code]

    def _first(self, lo: int) -> int:
        return int(np.searchsorted(self._rows.start, lo - self._length, "left"))

    def _last(self, hi: int) -> int:
        return int(np.searchsorted(self._rows.start, hi, "right"))

    @cached_property
    def _length(self) -> int:
        """Of the longest of them."""
        return int((self._rows.end - self._rows.start).max(initial=0))

    @cached_property
    def _units(self) -> list[str]:
        return self._rows.units()
