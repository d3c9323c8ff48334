"""The gate before every route: who asks, are they asking too often, and which runs do they see.

A page that nobody signed in to see leads to the sign-in page; every other request gets 401. A route
reads from `request.app.state`, which here is a desk with the asker's runs alone.
"""

from __future__ import annotations

import math
import time
from urllib.parse import quote

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rollscope.access.book import Token
from rollscope.access.door import Door, Shown
from rollscope.errors import NotSignedIn, RollscopeError, TooOften
from rollscope.server.errors import problem
from rollscope.store.notes import acting

from .desks import Desks

OPEN = {
    *(("GET", "/api/health"), ("GET", "/sign-in"), ("POST", "/api/session"), ("POST", "/api/session/end")),
    *(("GET", "/sign-in/openid"), ("GET", "/sign-in/openid/back")),
}
STILL_SECONDS = 2.0  # between two looks whether the token of an open stream still holds
NOBODY = "this server wants to know who asks: send `Authorization: Bearer TOKEN`, or sign in on its page."


class Gate:
    """An ASGI layer inside the application."""

    def __init__(self, app: ASGIApp, door: Door, desks: Desks) -> None:
        self.app, self.door, self.desks = app, door, desks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if (method, scope["path"]) in OPEN:
            scope["app"] = self.desks.nobody()
            return await self.app(scope, receive, send)
        shown = shown_by(Headers(scope=scope), self.door.cookie)
        try:
            token = await self._asked(shown, scope)
        except RollscopeError as error:
            return await self._refused(scope, error)(scope, receive, send)
        assert shown is not None
        scope["app"] = self.desks.of(token.allowed)
        scope["state"] = {**scope.get("state", {}), "token": token}
        with acting(token.name):
            await self._passed(scope, receive, send, shown)

    async def _asked(self, shown: Shown | None, scope: Scope) -> Token:
        if shown is None:
            raise NotSignedIn(NOBODY)
        try:
            token = self.door.known(shown)
            if token is None:
                token = await to_thread.run_sync(self.door.token, shown)
        except NotSignedIn:
            if not shown.is_cookie:  # a session that is over is everyday life
                await to_thread.run_sync(self._wrong, scope)
            raise
        if seconds := self.door.requests.wait(token.id):
            raise TooOften(f"{token.name} asks too often. Ask again in {math.ceil(seconds)} s.")
        return token

    def _wrong(self, scope: Scope) -> None:
        """Someone sent a token that does not hold: the audit has it, unless they go on and on."""
        client = scope.get("client")
        if seconds := self.door.wrong.wait(client[0] if client else ""):
            raise TooOften(f"too many tokens from here were wrong. Try again in {math.ceil(seconds)} s.")
        self.door.tell(None, "refused", f"{scope['method']} {scope['path'][:200]} from {client[0] if client else '?'}")

    def _refused(self, scope: Scope, error: RollscopeError) -> Response:
        path = scope["path"]
        if (
            isinstance(error, NotSignedIn)
            and scope["method"] == "GET"
            and not path.startswith(("/api/", "/frame", "/metrics"))
        ):
            return _to_sign_in(path, scope["query_string"].decode("latin-1"))
        reply = problem(error.status, type(error).__name__, str(error))
        if isinstance(error, NotSignedIn):
            reply.headers["www-authenticate"] = 'Bearer realm="rollscope"'
        if isinstance(error, TooOften):
            reply.headers["retry-after"] = str(error).rpartition(" in ")[2].partition(" ")[0]
        reply.headers["cache-control"] = "no-store"
        return reply

    async def _passed(self, scope: Scope, receive: Receive, send: Send, shown: Shown) -> None:
        """Let a request through. A stream ends when its token no longer holds."""
        ended, looked = False, time.monotonic()

        async def sending(message: Message) -> None:
            nonlocal ended, looked
            if message.get("more_body") and time.monotonic() - looked > STILL_SECONDS:
                looked = time.monotonic()
                if not await to_thread.run_sync(self._holds, shown):
                    ended = True
                    raise NotSignedIn("the token no longer holds")
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except BaseException:
            if not ended:
                raise

    def _holds(self, shown: Shown) -> bool:
        try:
            return bool(self.door.token(shown))
        except RollscopeError:
            return False


def shown_by(headers: Headers, cookie: str) -> Shown | None:
    """The token or the session that a request shows; None for neither."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and text.strip():
        return Shown(text.strip())
    value = cookie_parser(headers.get("cookie", "")).get(cookie)
    return Shown(value, is_cookie=True) if value else None


def _to_sign_in(path: str, query: str) -> Response:
    """Lead a browser to the sign-in page and from there back, behind any prefix."""
    up = "../" * (path.count("/") - 1) or "./"
    asked = path.lstrip("/") + (f"?{query}" if query else "")
    return RedirectResponse(f"{up}sign-in?to={quote(asked, safe='')}", 303, {"cache-control": "no-store"})
