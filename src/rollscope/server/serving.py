"""uvicorn that ends open event streams at once when it stops, so tabs do not keep it alive."""

from __future__ import annotations

from types import FrameType

import uvicorn

from .security import Guard


class Server(uvicorn.Server):
    def __init__(self, app: Guard) -> None:
        super().__init__(
            uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, lifespan="on", server_header=False)
        )
        self.guard = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.guard.app.state.watcher.close()
        super().handle_exit(sig, frame)
