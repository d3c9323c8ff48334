"""The socket of a server, opened before its address is said."""

from __future__ import annotations

import socket

from rollscope.errors import BadInput

BACKLOG = 2048  # connections that may wait, as uvicorn has it


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that takes connections, or raise a sentence that says why it failed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # who reads the address may connect at once, and is answered as soon as there is one
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(
            f"cannot listen on {host}:{port} ({str(error).rstrip('.')}). Another server may already use the port;"
            f" try --port {port + 1 if 0 < port < 65535 else 0}."
        ) from error
    return listener
