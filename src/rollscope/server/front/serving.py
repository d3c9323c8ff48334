"""uvicorn with limits, and without waiting for tabs when it stops.

uvicorn limits neither the time nor the size of the head of a request: a client that sends a byte a
minute would hold its connection. When it stops it ends open event streams at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from rollscope.server.security import Guard

from .limits import HEAD_BYTES, HEAD_SECONDS

if TYPE_CHECKING:  # the one that is always there; the other has the same methods
    from uvicorn.protocols.http.h11_impl import H11Protocol as Base
else:
    Base = AutoHTTPProtocol

CONNECTIONS = 1000
SWITCH_SECONDS = 0.001  # Python's own 0.005 lets threads that compute keep the event loop waiting
SLOW = 408, "Request Timeout", f"the head of the request did not arrive within {HEAD_SECONDS:g} s."
LARGE = 431, "Request Header Fields Too Large", f"the head of the request has more than {HEAD_BYTES:,} bytes."


class Protocol(Base):
    """One connection. A timer runs while the head of a request is awaited."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0  # of a head that is not complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_between_requests():
            self._start()
            self._head_bytes += len(data)
            if self._head_bytes > 2 * HEAD_BYTES:  # with some body in the same data; the guard is exact
                return self._refuse(*LARGE)
        super().data_received(data)
        if not self._is_between_requests():
            self._stop()

    def _is_between_requests(self) -> bool:
        """True if no request is being answered or has its head complete."""
        return self.cycle is None or self.cycle.response_complete

    def _start(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._refuse, *SLOW)

    def _stop(self) -> None:
        self._head_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, phrase: str, says: str) -> None:
        """Reply with a sentence and close. A client that has sent nothing gets nothing."""
        if self.transport.is_closing():
            return
        if self._head_bytes:
            body = json.dumps({"error": phrase.title().replace(" ", ""), "says": says}).encode()
            head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()


class Server(uvicorn.Server):
    """The server. With a certificate and its key, both paths of PEM files, it speaks TLS alone."""

    def __init__(self, app: Guard, certificate: str | None = None, key: str | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                http=Protocol,
                ws="none",
                lifespan="on",
                server_header=False,
                proxy_headers=False,  # the address of a client is that of its connection
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=4 * HEAD_BYTES,  # `Protocol` refuses before, with a sentence
                ssl_certfile=certificate,
                ssl_keyfile=key,
            )
        )
        self.guard = app
        sys.setswitchinterval(SWITCH_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End every stream once the loop goes on: a signal may interrupt who holds a lock."""
        asyncio.get_running_loop().call_soon_threadsafe(self.guard.app.state.desks.close)
        super().handle_exit(sig, frame)
