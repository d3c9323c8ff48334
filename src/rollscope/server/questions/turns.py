"""Long readings that go step by step: in threads of their own, and clients take turns.

The threads of pages stay free. A client has one step at a time in a thread, so forty searches of
one client are as fast together as one search of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import closing
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

THREADS = 2
Item = TypeVar("Item")


class Turns:
    def __init__(self) -> None:
        self._threads: anyio.CapacityLimiter | None = None  # made where the loop runs
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def items(self, client: str, items: Generator[Item]) -> AsyncIterator[Item]:
        """The items of a generator, each made in a thread. It is closed when the reader goes."""
        self._threads = self._threads or anyio.CapacityLimiter(THREADS)
        lock = self._locks.setdefault(client, asyncio.Lock())
        with closing(items):
            while True:
                async with lock:
                    item = await to_thread.run_sync(next, items, None, limiter=self._threads)
                if item is None:
                    return
                yield item
