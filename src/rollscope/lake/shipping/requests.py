"""Requests to a Rollscope server, with the token of `ROLLSCOPE_TOKEN`.

A server that is busy says how long to wait, and is asked again then. Everything else that fails is
a sentence. No sentence and no address has the token.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from rollscope import __version__
from rollscope.errors import BadInput, CannotRead, NotAllowed, NotSignedIn

TOKEN = "ROLLSCOPE_TOKEN"
SECONDS = 120.0  # that an answer may take
MOST_WAITING = 600.0  # seconds that a busy server may let us wait, in all
LONGEST_ANSWER = 64 << 20


class ServerUnreachable(CannotRead):
    """The server does not answer, or cannot do it now. Try again later."""

    status = 503


class NotThere(ServerUnreachable):
    """The server has no such thing: another version of it may have."""


class Changed(Exception):
    """The lake holds something else than we thought: look again."""


def is_server(lake: str) -> bool:
    """True if a lake is named by the address of a server."""
    return lake.startswith(("http://", "https://"))


class Requests:
    """One connection to a server, which is opened again when it breaks."""

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise BadInput(f"the address of the server is none: {error}") from error
        if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
            raise BadInput(
                f"a server is named by its address alone, such as https://runs.example.org; keep the token in {TOKEN}"
            )
        self._shown, self._sleep = f"{parts.scheme}://{parts.netloc}{parts.path}", sleep
        self._host, self._path, self._scheme = parts.netloc, parts.path.rstrip("/"), parts.scheme
        self._connection: http.client.HTTPConnection | None = None

    def json(self, method: str, address: str, body: Any = None) -> Any:
        """The answer to a request. Raises Changed for 409, else a sentence."""
        waited = 0.0
        while True:
            status, headers, data = self._answer(method, address, body)
            if status == 429 and waited < MOST_WAITING:
                seconds = _seconds(headers.get("retry-after"))
                self._sleep(seconds)
                waited += seconds
                continue
            if status == 409:
                raise Changed
            if status != 200:
                raise self._problem(status, data)
            return _parsed(data, self._shown)

    def _answer(self, method: str, address: str, body: Any) -> tuple[int, http.client.HTTPMessage, bytes]:
        """The answer of the server, on a new connection if the last one has ended meanwhile."""
        data, headers = _sent(body)
        if self._connection is not None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._asked(method, address, data, headers)
            self.close()  # what is sent again changes nothing
        try:
            return self._asked(method, address, data, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise ServerUnreachable(self._unreachable(error)) from None

    def _asked(
        self, method: str, address: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        self._connection = self._connection or self._connected()
        self._connection.request(method, f"{self._path}/{address}", data, headers)
        reply = self._connection.getresponse()
        answer = reply.status, reply.headers, reply.read(LONGEST_ANSWER)
        if reply.will_close:
            self.close()
        return answer

    def _connected(self) -> http.client.HTTPConnection:
        if self._scheme == "https":
            return http.client.HTTPSConnection(self._host, timeout=SECONDS, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, timeout=SECONDS)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _unreachable(self, error: Exception) -> str:
        why = "it closed the connection" if isinstance(error, http.client.HTTPException) else str(error) or "no answer"
        why = "the token has a character that no token has" if isinstance(error, (ValueError, UnicodeError)) else why
        return f"the server {self._shown} does not answer: {why[:200]}. Is the address right, and does it run?"

    def _problem(self, status: int, data: bytes) -> Exception:
        try:
            says = str(json.loads(data)["says"])[:1000]
        except (ValueError, KeyError, TypeError):  # a proxy, say
            says = f"it answered {status}, which is no answer of Rollscope's. Is the address right?"
            kind = NotThere if status == 404 else ServerUnreachable  # an older server has fewer routes
            return kind(f"the server {self._shown} says: {says}")
        text = f"the server {self._shown} says: {says}"
        if status == 401:
            return NotSignedIn(f"{text} The token of a program is in {TOKEN}.")
        known = {403: NotAllowed(text), 400: BadInput(text), 404: NotThere(text)}
        return known.get(status, ServerUnreachable(text))


def _sent(body: Any) -> tuple[bytes | None, dict[str, str]]:
    """A body and the headers of its request. Bytes are sent as they are, all else as JSON."""
    is_bytes = isinstance(body, bytes)
    headers = {"user-agent": f"rollscope/{__version__}", "accept": "application/json"}
    if body is not None:
        headers["content-type"] = "application/octet-stream" if is_bytes else "application/json"
    if token := os.environ.get(TOKEN, "").strip():
        headers["authorization"] = f"Bearer {token}"
    return body if is_bytes or body is None else json.dumps(body).encode(), headers


def _seconds(said: str | None) -> float:
    """How long a busy server wants us to wait."""
    return min(60.0, max(0.1, float(said))) if said and said.replace(".", "", 1).isdigit() else 1.0


def _parsed(data: bytes, shown: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise ServerUnreachable(f"{shown} does not answer as Rollscope does. Is the address right?") from None
