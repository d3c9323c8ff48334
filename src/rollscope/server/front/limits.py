"""How large a request may be, and how long it may take to arrive.

The guard asks here about the head of a request and reads its body through `limited`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

from rollscope.lake.spool import PIECE

HEAD_BYTES = 64 << 10  # the address and all headers
BODY_BYTES = 4 << 20  # a hundred thousand ids of samples
OBJECT_BYTES = PIECE  # of a run that is shipped
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
OBJECT_SECONDS = 120.0
OBJECTS = "/api/lake/runs/"


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    says: str


def refusal(scope: Scope) -> Refusal | None:
    """Why a request is too large, as far as its head tells; None if it is not."""
    headers = scope["headers"]
    head = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    head += sum(len(name) + len(value) for name, value in headers)
    if head > HEAD_BYTES:
        return Refusal(431, f"the address and the headers have {head:,} bytes; at most {HEAD_BYTES:,} are read.")
    length = next((value for name, value in headers if name == b"content-length"), b"0")
    if length.isdigit() and int(length) > most_bytes(scope):
        return Refusal(413, _too_large(f"has {int(length):,} bytes", most_bytes(scope)))
    return None


def _has_object(scope: Scope) -> bool:
    return bool(scope["method"] == "PUT" and OBJECTS in scope["path"])


def most_bytes(scope: Scope) -> int:
    """How many bytes the body of a request may have."""
    return OBJECT_BYTES if _has_object(scope) else BODY_BYTES


def _too_large(has: str, most: int) -> str:
    return f"the body of the request {has}; at most {most:,} are read. Ask for less at a time."


def limited(receive: Receive, scope: Scope) -> Receive:
    """`receive` for a body of limited size that arrives in time; else HTTPException 413 or 408."""
    most, seconds = most_bytes(scope), OBJECT_SECONDS if _has_object(scope) else BODY_SECONDS
    deadline = time.monotonic() + seconds
    size, complete = 0, False

    async def receiving() -> Message:
        nonlocal size, complete
        if complete:  # what comes now is the end of the connection, whenever that is
            return await receive()
        message = await _in_time(receive, deadline, seconds)
        size += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if size > most:
            raise HTTPException(413, _too_large(f"has more than {most:,} bytes", most), {"connection": "close"})
        return message

    return receiving


async def _in_time(receive: Receive, deadline: float, seconds: float) -> Message:
    try:
        return await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        says = f"the body of the request did not arrive within {seconds:g} s. Send it again."
        raise HTTPException(408, says, {"connection": "close"}) from None
