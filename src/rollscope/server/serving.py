"""uvicorn that ends open event streams at once when it stops, so tabs do not keep it alive."""

from __future__ import annotations

from types import FrameType

import uvicorn

from .limits import HEAD_BYTES
from .protocol import Protocol
from .security import Guard

CONNECTIONS = 1000


class Server(uvicorn.Server):
    def __init__(self, app: Guard) -> None:
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
            )
        )
        self.guard = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.guard.app.state.watcher.close()
        super().handle_exit(sig, frame)
