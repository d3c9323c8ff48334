"""The object store as the intake sees it: what just arrived need not be fetched or stored again."""

from __future__ import annotations

import contextlib
import io
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from rollscope.lake.objects import Objects, Source
from rollscope.lake.place import Place

MOST_BYTES = 128 << 20  # of objects that arrived last and are kept in memory


@dataclass(frozen=True, slots=True)
class Whole:
    """Bytes in memory, as an object is made of them."""

    data: bytes

    def chunks(self) -> Iterator[bytes]:
        yield self.data


class Received(Objects):
    """Objects, of which the last ones that were put are kept in memory. Threads may use it."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._known = threading.local()

    def put(self, key: str, source: Source) -> None:
        if key in getattr(self._known, "stored", ()):
            return
        data = b"".join(source.chunks())
        super().put(key, Whole(data))
        with self._lock:
            self._size += len(data) - len(self._kept.pop(key, b""))
            self._kept[key] = data
            while self._size > MOST_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])

    @contextlib.contextmanager
    def stored(self, keys: set[str]) -> Iterator[None]:
        """In this thread: these objects were put and read back, so they are not put again."""
        self._known.stored = keys
        try:
            yield
        finally:
            self._known.stored = set()

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[IO[bytes]]:
        with self._lock:
            data = self._kept.get(key)
        if data is not None:
            yield io.BytesIO(data)
            return
        with super().opened(key) as source:
            yield source
