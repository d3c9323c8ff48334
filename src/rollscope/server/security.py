"""Who may ask: hosts on the allow list (a foreign `Host` is DNS rebinding), and writes only from our own pages.

Also puts the fixed headers on every answer, and takes a path prefix off, for proxies that pass it on.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rollscope.errors import NotFound

from .assets import Assets
from .errors import problem

LOCAL = ("127.0.0.1", "localhost", "::1")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "SAMEORIGIN",
}


def host_name(value: str) -> str:
    """The host of a `Host` header or an origin, without port and brackets, in lower case."""
    try:
        return (urlsplit(value if "//" in value else f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """The outermost ASGI layer."""

    def __init__(self, app: FastAPI, hosts: Iterable[str] = LOCAL, root_path: str = "") -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.prefix = "/" + root_path.strip("/") if root_path.strip("/") else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        refused = self._refuses(scope["method"], headers)
        if refused:
            return await problem(403, "Refused", refused)(scope, receive, send)
        path = scope["path"]
        if self.prefix and (path == self.prefix or path.startswith(self.prefix + "/")):
            rest = path[len(self.prefix) :] or "/"
            scope = {**scope, "path": rest, "raw_path": rest.encode(), "rollscope.prefixed": path == self.prefix}
        sending = self._with_headers(send, scope["path"])
        if scope["method"] == "GET" and scope["path"].startswith(
            "/web/"
        ):  # forty files make the first page: no routing, no thread for them
            return await self._asset(scope["path"], headers)(scope, receive, sending)
        await self.app(scope, receive, sending)

    def _asset(self, path: str, headers: Headers) -> Response:
        digest, _, name = path.removeprefix("/web/").partition("/")
        assets: Assets = self.app.state.assets
        try:
            return assets.file(digest, name, headers.get("if-none-match", ""))
        except NotFound as error:
            return problem(404, "NotFound", str(error))

    def _refuses(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if "*" not in self.hosts and host_name(host) not in self.hosts:
            return f"this server does not answer for host {host[:80]!r}; start it with --host-name to allow it"
        origin = headers.get("origin")
        if (
            method not in SAFE_METHODS
            and origin is not None
            and urlsplit(origin).netloc.lower() != headers.get("x-forwarded-host", host).lower()
        ):
            return f"a page of {origin[:80]!r} may not write here"
        return ""

    def _with_headers(self, send: Send, path: str) -> Send:
        """Every answer of the API also says which web belongs to it: an old page then knows it is old."""
        more = {"x-rollscope-web": self.app.state.assets.digest} if path.startswith("/api/") else {}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, **more}.items():
                    headers.setdefault(name, value)
            await send(message)

        return sending
