"""A handler's way to ask a heavy question: it takes no thread, and ends when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import IO, Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rollscope.store.listing.allowed import Allowed

from .queues import Queues, Ticket

CHUNK = 1 << 18
CLIENT_LEFT = 499  # nginx's number: no client sees it


def client_of(request: Request) -> str:
    """Who asks: the token they signed in with, else the address of the other end."""
    token = getattr(request.state, "token", None)
    if token is not None:
        return str(token.id)
    return request.client.host if request.client else ""


async def answered(
    request: Request, kind: str, limit: float, question: Mapping[str, Any], media_type: str, headers: Mapping[str, str]
) -> Response:
    """Ask, and reply with the bytes of the answer. It is made of runs that the asker may see."""
    queues: Queues = request.app.state.queues
    seen = _allowed(request.app.state.library.allowed)
    ticket = queues.add(client_of(request), kind, limit, {**question, "allowed": seen})
    answer = await _unless_gone(request, queues, ticket)
    return Response(status_code=CLIENT_LEFT) if answer is None else _sent(answer, media_type, headers)


def _allowed(allowed: Allowed | None) -> list[list[str]] | None:
    """Projects and runs that someone may see, as JSON carries them to the process that answers."""
    return None if allowed is None else [sorted(allowed.projects), sorted(allowed.runs)]


async def _unless_gone(request: Request, queues: Queues, ticket: Ticket) -> IO[bytes] | None:
    """The answer; None if the client left before it came, and then the question is stopped."""
    answer = asyncio.ensure_future(asyncio.wrap_future(ticket.future))
    gone = asyncio.ensure_future(_client_left(request))
    either: set[asyncio.Future[Any]] = {answer, gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        gone.cancel()
        if not answer.done():
            queues.withdraw(ticket)
            answer.cancel()


async def _client_left(request: Request) -> None:
    """Return when the client has closed its connection. The body of the request was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _sent(answer: IO[bytes], media_type: str, headers: Mapping[str, str]) -> Response:
    """The bytes, from memory or from the file where a large answer waits."""
    length = answer.seek(0, 2)
    answer.seek(0)
    if length <= CHUNK:
        with answer:
            return Response(answer.read(), media_type=media_type, headers=dict(headers))
    more = {**headers, "content-length": str(length)}
    close = BackgroundTask(answer.close)
    return StreamingResponse(_chunks(answer), media_type=media_type, headers=more, background=close)


def _chunks(answer: IO[bytes]) -> Iterator[bytes]:
    with answer:
        while chunk := answer.read(CHUNK):
            yield chunk
