"""Is a page being loaded? Work in the background waits until it is there.

A request counts until its reply begins, so an open stream of events does not. Requests that go
on for longer than a page takes hold up nothing.
"""

from __future__ import annotations

import threading
import time

from starlette.types import Message, Send

QUIET_SECONDS = 0.3  # a page sends its requests closer together than this
PAGE_SECONDS = 2.0  # and has all answers by then


class PageLoads:
    """Requests that are being answered now. Several threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._since = self._last = float("-inf")  # the first request without a pause, and the last

    def is_page(self) -> bool:
        """True while a page may be loading."""
        return not self._is_quiet() and time.monotonic() - self._since < PAGE_SECONDS

    def _is_quiet(self) -> bool:
        return not self._under_way and time.monotonic() - self._last > QUIET_SECONDS

    def count(self, by: int) -> None:
        with self._lock:
            self._since = time.monotonic() if self._is_quiet() else self._since
            self._under_way += by
            self._last = time.monotonic()


class Counted:
    """Where the reply of one request goes. The request counts until the reply begins."""

    def __init__(self, loads: PageLoads, send: Send) -> None:
        self._loads, self._send = loads, send
        self._is_over = False
        loads.count(1)

    async def __call__(self, message: Message) -> None:
        self.end()
        await self._send(message)

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._loads.count(-1)
