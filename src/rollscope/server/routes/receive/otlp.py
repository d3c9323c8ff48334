"""OTLP over HTTP: `POST /v1/traces`, `/v1/metrics` and `/v1/logs`, as protobuf or JSON."""

from __future__ import annotations

import asyncio
from typing import Literal, Protocol

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from rollscope.errors import RollscopeError

WAITING = 32  # batches that may wait for their turn
router = APIRouter(prefix="/v1", tags=["receive"])


class Receives(Protocol):
    """Stores batches. It answers once they are on the disk."""

    def take(self, signal: str, content_type: str, encoding: str, body: bytes) -> tuple[bytes, str]: ...

    def close(self) -> None: ...


class Busy(RollscopeError):
    status = 503


class Inlet:
    """One batch at a time; a few wait, more are sent away."""

    def __init__(self, receiver: Receives) -> None:
        self._receiver, self._turn, self._waiting = receiver, asyncio.Lock(), 0

    async def take(self, signal: str, content_type: str, encoding: str, body: bytes) -> tuple[bytes, str]:
        if self._waiting >= WAITING:
            raise Busy(f"{self._waiting} batches wait already. Send this one again in a moment.")
        self._waiting += 1
        try:
            async with self._turn:
                return await run_in_threadpool(self._receiver.take, signal, content_type, encoding, body)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._receiver.close()


@router.post("/{signal}")
async def receive(request: Request, signal: Literal["traces", "metrics", "logs"]) -> Response:
    """Take a batch of OpenTelemetry, compressed with gzip or not.

    Entries that cannot be understood are counted in the answer, with a sentence; the rest is kept.
    The answer comes once the batch is on the disk, and a batch that is sent again adds nothing.
    """
    inlet: Inlet = request.app.state.otlp
    kind, encoding = request.headers.get("content-type", ""), request.headers.get("content-encoding", "")
    body, media_type = await inlet.take(signal, kind, encoding, await request.body())
    return Response(body, media_type=media_type)
