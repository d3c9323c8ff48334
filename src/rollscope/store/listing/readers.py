"""Readers of runs that stay open: those that were used last, and those that someone still holds.

The next question of an open reader reads only new bytes. A reader that is forgotten here goes on
working for its holder.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

MOST = 32
Reader = TypeVar("Reader")


class Readers(Generic[Reader]):
    def __init__(self, open_reader: Callable[[str], Reader], most: int = MOST) -> None:
        self._open, self.most = open_reader, most
        self._recent: OrderedDict[str, Reader] = OrderedDict()
        self._held: weakref.WeakValueDictionary[str, Reader] = weakref.WeakValueDictionary()

    def get(self, id: str) -> Reader | None:
        """The open reader of a run, if there is one."""
        reader = self._held.get(id)
        if reader is not None:
            self._keep(id, reader)
        return reader

    def open(self, id: str) -> Reader:
        """Open a reader of a run and keep it."""
        reader = self._held[id] = self._open(id)
        self._keep(id, reader)
        return reader

    def _keep(self, id: str, reader: Reader) -> None:
        self._recent[id] = reader
        self._recent.move_to_end(id)
        while len(self._recent) > self.most:
            self._recent.popitem(last=False)
