"""Keep the row groups that were decoded last, up to a number of bytes.

A chart asks for the same groups at every zoom, a doctor for the same names at every step. The bound
is in bytes, over all runs together, and a file that is gone takes its groups with it: a server that
reads for days keeps no more than that.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Decoded = TypeVar("Decoded")
Owner = TypeVar("Owner")  # a file, or a set of files
Key = tuple[int, int]  # the file's identity, and a row group


class RecentGroups(Generic[Decoded, Owner]):
    """Call it with a file and the number of a row group, or a set and of a name. Threads may."""

    def __init__(self, decode: Callable[[Owner, int], Decoded], size: Callable[[Decoded], int], most: int) -> None:
        self._decode, self._size, self.most = decode, size, most
        self.bytes = 0
        self._groups: OrderedDict[Key, tuple[int, Decoded]] = OrderedDict()
        self._files: dict[int, weakref.ref[Owner]] = {}
        self._lock = threading.RLock()  # a file may be collected while this thread holds the lock

    def __call__(self, file: Owner, group: int) -> Decoded:
        key = (id(file), group)
        with self._lock:
            if key in self._groups:
                self._groups.move_to_end(key)
                return self._groups[key][1]
        decoded = self._decode(file, group)
        with self._lock:
            self._keep(file, key, decoded)
        return decoded

    def _keep(self, file: Owner, key: Key, decoded: Decoded) -> None:
        size = self._size(decoded)
        if key in self._groups or size > self.most:
            return
        if key[0] not in self._files:
            self._files[key[0]] = weakref.ref(file, lambda _: self._forget(key[0]))
        self._groups[key] = size, decoded
        self.bytes += size
        while self.bytes > self.most:
            self._drop(next(iter(self._groups)))

    def _forget(self, file: int) -> None:
        with self._lock:
            self._files.pop(file, None)
            for key in [key for key in self._groups if key[0] == file]:
                self._drop(key)

    def _drop(self, key: Key) -> None:
        self.bytes -= self._groups.pop(key)[0]
