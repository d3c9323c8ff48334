"""A real server in a thread of its own, for tests that need connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rollscope.server.app import create
from rollscope.server.front.serving import Server


@contextmanager
def served(store: Path) -> Iterator[tuple[str, int]]:
    """A server of its own thread on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(create(str(store)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
