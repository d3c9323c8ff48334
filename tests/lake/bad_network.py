"""A TCP proxy between a client and a server that is slow, cuts connections, or answers 500.

It stands before S3, here and in `bench/team.py`.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time

CHUNK = 1 << 14
ERROR = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MODES = ("good", "slow", "500", "cut")


class BadNetwork:
    """Listens on a port of its own and passes everything on. `mode` may change at any time."""

    def __init__(self, port: int, seed: int = 0) -> None:
        self._port, self._random, self.mode = port, random.Random(seed), "good"
        self.spoiled = 0  # connections that were cut or answered 500
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            if self.mode == "500":
                self.spoiled += 1
                client.recv(CHUNK)
                client.sendall(ERROR)
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                back = threading.Thread(target=self._pass, args=(server, client), daemon=True)
                back.start()
                self._pass(client, server)
                back.join()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if self.mode == "slow":
                    time.sleep(0.05)
                if self.mode == "500" or (self.mode == "cut" and self._random.random() < 0.3):
                    self.spoiled += 1
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
