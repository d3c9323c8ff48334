"""Fields in a cookie, signed so that nobody can change them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any


def write(key: bytes, what: str, fields: Sequence[Any]) -> str:
    """The value of a cookie. `what` says its kind: one kind is never taken for another."""
    body = _coded(json.dumps(fields).encode())
    return f"{body}.{_signature(key, what, body)}"


def read(key: bytes, what: str, value: str) -> list[Any] | None:
    """The fields of a cookie; None if they are not as they were written."""
    body, _, signature = value.partition(".")
    if not hmac.compare_digest(_signature(key, what, body).encode(), signature.encode()):
        return None
    fields: list[Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return fields


def _signature(key: bytes, what: str, body: str) -> str:
    return _coded(hmac.new(key, f"rollscope {what} {body}".encode(), hashlib.sha256).digest())


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
