"""The spans that a run holds already: eight bytes for each, however many there are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

RECENT = 1 << 16  # ids that are kept in a set before they join the sorted array


class SpanIds:
    """A set of ids that are 64-bit integers. Most questions are about recent ones."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._old = np.unique(np.fromiter(ids, np.int64))
        self._recent: set[int] = set()

    def __contains__(self, id: int) -> bool:
        if id in self._recent:
            return True
        at = int(np.searchsorted(self._old, id))
        return at < len(self._old) and int(self._old[at]) == id

    def __len__(self) -> int:
        return len(self._old) + len(self._recent)

    def add(self, id: int) -> None:
        if id not in self:
            self._recent.add(id)
        if len(self._recent) >= RECENT:
            self._old = np.union1d(self._old, np.fromiter(self._recent, np.int64))
            self._recent = set()
