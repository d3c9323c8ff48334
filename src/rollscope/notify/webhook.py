"""Send a notice to a webhook: one POST of JSON, with no redirect followed and a deadline for all.

A redirect is refused: it would carry the notice to an address that nobody named. Proxies are those
of the environment.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rollscope import __version__

from .delivery import NotSent, Refused, Unanswered
from .notice import Notice
from .shape import SHAPES

CONNECT_SECONDS = 10.0  # for each wait: to connect, to send, for a piece of the answer
DEADLINE_SECONDS = 20.0  # for all of it: a target may drip one byte at a time
MOST_WAIT_SECONDS = 300.0  # that a target may ask for
AGAIN = {408, 425, 429}  # "later", among the answers that mean "never"


@dataclass(frozen=True, slots=True)
class Webhook:
    shape: str  # json, slack or discord
    shown: str
    url: str = field(repr=False)

    def send(self, notice: Notice) -> None:
        body = json.dumps(SHAPES[self.shape](notice)).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"rollscope/{__version__}",
            "Idempotency-Key": f"{notice.run}/{notice.id}",
        }
        request = urllib.request.Request(self.url, body, headers, method="POST")
        with _deadline() as opener:
            self._post(opener, request)

    def _post(self, opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> None:
        try:
            opener.open(request, timeout=CONNECT_SECONDS).close()
        except urllib.error.HTTPError as error:
            with error:
                raise _answer(error.code, error.headers.get("Retry-After")) from None
        except urllib.error.URLError as error:  # before the notice was sent whole
            raise NotSent(f"it cannot be reached ({_why(error.reason)})") from None
        except http.client.RemoteDisconnected:
            raise NotSent("it closed the connection without an answer") from None
        except TimeoutError:
            raise Unanswered(f"it gave no answer within {CONNECT_SECONDS:.0f} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(f"its answer could not be read ({_why(error)})") from None


def _answer(code: int, retry_after: str | None) -> Exception:
    """What an answer other than "taken" means."""
    if 300 <= code < 400:
        return Refused(f"it answered with a redirect ({code}), which is not followed. Name the address it leads to")
    if code >= 500 or code in AGAIN:
        seconds = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
        return NotSent(f"it answered {code}", min(seconds, MOST_WAIT_SECONDS))
    return Refused(f"it answered {code}. Is the address of the webhook right, and not revoked?")


def _why(error: Any) -> str:
    """The kind of an error. Its text may hold the address."""
    return str(getattr(error, "strerror", None) or type(error).__name__)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Tracked(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Keeps the connections that it opens, so that they can be cut."""

    def __init__(self, opened: list[http.client.HTTPConnection]) -> None:
        super().__init__()
        self.opened = opened

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPConnection), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPSConnection), request)

    def _connection(
        self, kind: type[http.client.HTTPConnection], host: str, **options: Any
    ) -> http.client.HTTPConnection:
        self.opened.append(kind(host, **options))
        return self.opened[-1]


@contextlib.contextmanager
def _deadline() -> Iterator[urllib.request.OpenerDirector]:
    """An opener whose connections are cut at the deadline, whatever they wait for."""
    opened: list[http.client.HTTPConnection] = []
    timer = threading.Timer(DEADLINE_SECONDS, _cut, [opened])
    timer.daemon = True
    timer.start()
    try:
        yield urllib.request.build_opener(_NoRedirect, _Tracked(opened))
    finally:
        timer.cancel()


def _cut(opened: list[http.client.HTTPConnection]) -> None:
    for connection in opened:
        with contextlib.suppress(OSError, AttributeError):  # it is not connected, or not any more
            connection.sock.shutdown(socket.SHUT_RDWR)
