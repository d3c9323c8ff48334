"""The guard in front of the server: only allowed hosts, and writes only from our own pages.

A foreign `Host` header is DNS rebinding. The guard also sets fixed headers on every reply, and
removes a path prefix for proxies that pass it on. `X-Forwarded-Host` counts only from a process of
this machine, or if the server was told that it is behind a proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rollscope.errors import NotFound
from rollscope.server.front import limits
from rollscope.server.front.page_loads import Counted

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


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def is_of_this_machine(client: tuple[str, int] | None) -> bool:
    """True if the other end of a connection is a process of this machine, as a notebook's proxy is.

    Such a proxy names the host that the browser asked. A page cannot: it may not set the header.
    """
    try:
        return client is None or ipaddress.ip_address(client[0].partition("%")[0]).is_loopback
    except ValueError:
        return False


class Guard:
    """The outermost ASGI layer."""

    def __init__(
        self, app: FastAPI, hosts: Iterable[str] = LOCAL, root_path: str = "", behind_proxy: bool = False
    ) -> None:
        self.app = app
        self.behind_proxy = behind_proxy
        self.hosts = frozenset(host.lower() for host in hosts)
        self.prefix = "/" + root_path.strip("/") if root_path.strip("/") else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        send = self.app.state.traffic.counted(send, scope)
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal:
            return await problem(403, "Refused", refusal)(scope, receive, send)
        if too_large := limits.refusal(scope):
            reply = problem(too_large.status, "TooLarge", too_large.says)
            reply.headers["connection"] = "close"
            return await reply(scope, receive, self._with_headers(send, scope["path"]))
        receive = limits.limited(receive, scope)
        scope = self._without_prefix(scope)
        send = self._with_headers(send, scope["path"])
        # The first page is forty files: they need no routing and no thread.
        if scope["method"] == "GET" and scope["path"].startswith("/web/"):
            return await self._asset(scope["path"], headers)(scope, receive, send)
        counted = Counted(self.app.state.page_loads, send)
        try:
            await self.app(scope, receive, counted)
        finally:
            counted.end()

    def _without_prefix(self, scope: Scope) -> Scope:
        path = scope["path"]
        if not self.prefix or not (path == self.prefix or path.startswith(self.prefix + "/")):
            return scope
        rest = path[len(self.prefix) :] or "/"
        return {**scope, "path": rest, "raw_path": rest.encode()}

    def _asset(self, path: str, headers: Headers) -> Response:
        digest, _, name = path.removeprefix("/web/").partition("/")
        assets: Assets = self.app.state.assets
        try:
            return assets.file(digest, name, headers.get("if-none-match", ""))
        except NotFound as error:
            return problem(404, "NotFound", str(error))

    def _refusal(self, scope: Scope, headers: Headers) -> str:
        """Why a request is refused; empty if it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if "*" not in self.hosts and host_name(host) not in self.hosts:
            return f"this server does not answer for host {host[:80]!r}; start it with --host-name to allow it"
        if scope["method"] in SAFE_METHODS or origin is None:
            return ""
        if self.behind_proxy or is_of_this_machine(scope.get("client")):
            host = headers.get("x-forwarded-host", host)
        is_ours = _netloc(origin) == host.lower()
        return "" if is_ours else f"a page of {origin[:80]!r} may not write here"

    def _with_headers(self, send: Send, path: str) -> Send:
        """Add the fixed headers. API replies also name the web version, so an old page notices."""
        more = {"x-rollscope-web": self.app.state.assets.digest} if path.startswith("/api/") else {}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, **more}.items():
                    headers.setdefault(name, value)
            await send(message)

        return sending
