"""One shape for everything that goes wrong: `{"error": kind, "says": sentence}`, with the status the error names itself."""

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


class Problem(TypedDict):
    """What every failed request answers."""

    error: str
    says: str


def problem(status: int, kind: str, says: str) -> Response:
    return JSONResponse({"error": kind, "says": says}, status)


def known_parameters(request: Request) -> None:
    """A parameter nobody reads is a typing error, and is said to be one."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = sorted(field.alias for field in route.dependant.query_params)
    for name in request.query_params:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BadInput(f"unknown parameter {name!r} for {route.path}: {takes}.{nearest(name, known)}")


def _place(error: dict[str, Any]) -> str:
    return ".".join(str(part) for part in error["loc"] if part not in ("query", "path")) or "the request"


def _validation_sentence(errors: list[Any]) -> str:
    said = []
    for error in errors[:4]:
        given = error.get("input")
        text = f"{_place(error)}: {error['msg'].lower()}"
        said.append(text if error["type"] == "missing" else f"{text}, got {str(given)[:60]!r}")
    return "; ".join(said) + ("" if len(errors) <= 4 else f"; and {len(errors) - 4} more")


def install(app: FastAPI) -> None:
    """Give every way to fail the one shape."""

    @app.exception_handler(RollscopeError)
    async def on_purpose(request: Request, error: RollscopeError) -> Response:
        return problem(error.status, type(error).__name__, str(error))

    @app.exception_handler(RequestValidationError)
    async def on_bad_request(request: Request, error: RequestValidationError) -> Response:
        return problem(400, "BadInput", _validation_sentence(list(error.errors())))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        words = {404: f"nothing is at {request.url.path}", 405: f"{request.method} is not for {request.url.path}"}
        return problem(
            error.status_code,
            "NotFound" if error.status_code == 404 else "HTTPException",
            words.get(error.status_code, str(error.detail)),
        )

    @app.exception_handler(Exception)
    async def on_bug(request: Request, error: Exception) -> Response:
        log.exception("a request failed: %s %s", request.method, request.url.path)
        return problem(500, type(error).__name__, "this is a fault in Rollscope; the server's log has the details")
