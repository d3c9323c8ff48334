"""JSON as text from models needs it: a lone surrogate, which UTF-8 cannot carry, travels as its escape. Shapes are checked by mypy, not again here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from rollscope.strict_json import encode


def as_json(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Send what a handler gives, as it is; its annotation still describes the answer in OpenAPI."""

    @functools.wraps(handler)
    def call(*args: Any, **more: Any) -> Response:
        data = encode(handler(*args, **more), compact=True)
        return Response(data, media_type="application/json", headers={"cache-control": "no-store"})

    return call
