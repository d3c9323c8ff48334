"""JSON replies. A lone surrogate, which UTF-8 cannot carry, is sent as its escape.

mypy checks the shapes of replies; they are not validated again here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from rollscope.strict_json import encode

NO_STORE = {"cache-control": "no-store"}


def as_json(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Send a handler's result as JSON; bytes are JSON already.

    The handler's annotation still describes the reply in OpenAPI.
    """

    @functools.wraps(handler)
    def call(*args: Any, **more: Any) -> Response:
        answer = handler(*args, **more)
        data = answer if isinstance(answer, bytes) else encode(answer, compact=True)
        return Response(data, media_type="application/json", headers=NO_STORE)

    # Older FastAPI looks up the names in annotations here, where the handler's are not known.
    call.__signature__ = inspect.signature(handler, eval_str=True)  # type: ignore[attr-defined]
    return call


def json_reply(value: Any) -> Response:
    return Response(json_line(value), media_type="application/json", headers=NO_STORE)


def json_line(value: Any) -> bytes:
    return encode(value) + b"\n"
