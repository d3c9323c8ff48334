"""One shape for every error: `{"error": kind, "says": sentence}`, with the error's own status."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.errors import BadInput, RollscopeError, nearest

log = logging.getLogger("rollscope.server")
AGAIN = (429, 503)  # statuses of a request that may be sent again
RETRY_SECONDS = 5  # after which it may
MOST_ERRORS = 4  # of one request that the sentence names
SECRET = "/api/session"  # a request to it has a token, which no sentence repeats


class Problem(TypedDict):
    """The body of every failed request."""

    error: str
    says: str


def problem(status: int, kind: str, says: str) -> Response:
    return JSONResponse({"error": kind, "says": says}, status)


async def known_parameters(request: Request) -> None:
    """Reject a query parameter that the handler does not read: it is a typing error."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = sorted(field.alias for field in route.dependant.query_params)
    for name in request.query_params:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BadInput(f"unknown parameter {name!r} for {route.path}: {takes}.{nearest(name, known)}")


def _validation_sentence(errors: list[Any], is_secret: bool) -> str:
    sentences = [_sentence(error, is_secret) for error in errors[:MOST_ERRORS]]
    more = len(errors) - MOST_ERRORS
    return "; ".join(sentences) + (f"; and {more} more" if more > 0 else "")


def _sentence(error: dict[str, Any], is_secret: bool) -> str:
    field = ".".join(str(part) for part in error["loc"] if part not in ("query", "path")) or "the request"
    text = f"{field}: {error['msg'].lower()}"
    return text if is_secret or error["type"] == "missing" else f"{text}, got {str(error.get('input'))[:60]!r}"


def install(app: FastAPI) -> None:
    """Give every error of an application the one shape."""

    @app.exception_handler(RollscopeError)
    async def on_purpose(request: Request, error: RollscopeError) -> Response:
        reply = problem(error.status, type(error).__name__, str(error))
        if error.status in AGAIN:
            reply.headers["retry-after"] = str(getattr(error, "seconds", RETRY_SECONDS))
        return reply

    @app.exception_handler(RequestValidationError)
    async def on_bad_request(request: Request, error: RequestValidationError) -> Response:
        return problem(400, "BadInput", _validation_sentence(list(error.errors()), request.url.path == SECRET))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        path = request.url.path
        if error.status_code == 404:
            return problem(404, "NotFound", f"there is nothing at {path}")
        says = f"{path} does not take {request.method}" if error.status_code == 405 else str(error.detail)
        reply = problem(error.status_code, "HTTPException", says)
        reply.headers.update(error.headers or {})
        return reply

    @app.exception_handler(Exception)
    async def on_bug(request: Request, error: Exception) -> Response:
        log.exception("a request failed: %s %s", request.method, request.url.path)
        return problem(500, type(error).__name__, "this is a bug in Rollscope; the server's log has the details")
