"""Which role a request needs. A route that writes and is not listed here needs the highest."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from rollscope.access.book import May, Token
from rollscope.errors import NotAllowed

READS = {  # requests with a body that only ask
    "/series",
    "/values",
    "/csv",
    "/compare/charts",
    "/runs/{run}/rollouts/samples",
    "/runs/{run}/rollouts/text",
    "/runs/{run}/rollouts/previews",
    "/runs/{run}/export",
    "/runs/{run}/sql",
    "/session",
    "/session/end",
}
RECORDS = {
    "/runs/{run}/notes",
    "/runs/{run}/findings/hidden",
    "/runs/{run}/stop",
    "/project",  # and what the kind of the entry needs
    "/project/undo",
    "/lake/runs/{run}/objects",
    "/lake/runs/{run}/ships",
    "/lake/runs/{run}/said",
}
ADMINS = {"/tokens"}  # questions that tell who may do what
RECORDED_KINDS = ("note", "edit", "star", "label", "comment", "set", "query", "view")


def needed(method: str, path: str) -> May:
    """The role that a route needs, by its method and its path in the API's description."""
    path = path.removeprefix("/api")  # some versions of FastAPI name a route with its prefix
    if path in ADMINS:
        return "admin"
    if method in ("GET", "HEAD", "OPTIONS") or path in READS:
        return "read"
    return "record" if path in RECORDS else "admin"


def token_of(request: Request) -> Token | None:
    """Who asks; None if this server has no sign-in."""
    token: Token | None = getattr(request.state, "token", None)
    return token


async def permitted(request: Request) -> None:
    """Refuse a request whose token does not allow it. A refusal, which is noted, takes a thread."""
    route = request.scope.get("route")
    if isinstance(route, APIRoute):
        role, token = needed(request.method, route.path), token_of(request)
        if token is not None and not token.can(role):
            await run_in_threadpool(require, request, role)


def require(request: Request, role: May, what: str = "this") -> None:
    token = token_of(request)
    if token is None or token.can(role):
        return
    request.app.state.door.tell(token, "refused", f"{request.method} {request.url.path[:200]} needs {role}")
    raise NotAllowed(
        f"{token.name} may {token.may}, and {what} needs a token that may {role}. Ask who runs the server for one."
    )


def may_record_everywhere(request: Request) -> None:
    """Refuse who may not record runs of every project, since a batch names its project itself."""
    token = token_of(request)
    if token is not None and token.allowed is not None:
        raise NotAllowed(f"a batch may be of any project, and {token.name} may {token.may} some alone")
    require(request, "record")


def require_for_kinds(request: Request, kinds: Iterable[str]) -> None:
    """Refuse entries of the project log that the token does not allow."""
    strict = sorted({kind for kind in kinds if kind not in RECORDED_KINDS})
    if strict:
        require(request, "admin", f"to change a {strict[0]}")


def audit(request: Request, what: str, about: Iterable[str]) -> None:
    """Write to the audit what was done, where there is one."""
    token = token_of(request)
    if token is not None:
        request.app.state.door.tell(token, what, ", ".join(about)[:2000])
