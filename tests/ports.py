"""A port for a program that must be told its port before it can listen."""

from __future__ import annotations

import random
import socket

# Below those that systems give to connections: nobody is given it before the program has it.
FIRST, LAST = 20_000, 30_000


def free_port() -> int:
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
