"""Requests to a server: a busy one is asked again, and a proxy that answers for it is not it."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

import pytest

from rollscope.errors import BadInput, NotAllowed, NotSignedIn
from rollscope.lake.shipping.requests import NotThere, Requests, ServerUnreachable

OURS = b'{"error": "kind", "says": "a sentence."}'
HTML = b"<html>Request blocked by the firewall</html>"
JSON = b'{"message": "Forbidden"}'


@contextlib.contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[str]:
    """The address of a server that gives these answers, one after the other."""
    left = iter(answers)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = next(left)
            self.send_response(status)
            self.send_header("retry-after", "7")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    waits: list[float] = []
    with answering((429, b"{}"), (429, b"{}"), (200, b'{"ok": 1}')) as url:
        requests = Requests(url, waits.append)
        answer = requests.json("GET", "x")
        requests.close()
    assert answer == {"ok": 1} and waits == [7.0, 7.0]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, OURS, BadInput),
        (401, OURS, NotSignedIn),
        (403, OURS, NotAllowed),
        (404, OURS, NotThere),
        (507, OURS, ServerUnreachable),
        *((status, body, ServerUnreachable) for status in (400, 401, 403, 502) for body in (HTML, JSON)),
    ],
)
def test_only_rollscope_itself_can_refuse_and_what_a_proxy_says_is_tried_again(
    status: int, body: bytes, kind: type[Exception]
) -> None:
    with answering((status, body)) as url, pytest.raises(kind) as raised:
        requests = Requests(url)
        try:
            requests.json("GET", "x")
        finally:
            requests.close()
    assert raised.type is kind
    assert ("a sentence." if body is OURS else f"it answered {status}, which is no answer of") in str(raised.value)
