"""A sign-in that has begun at a provider: a signed cookie of ten minutes, good for one return.

It holds what the return must match, so that no one else's return is taken for this browser's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import astuple, dataclass

from rollscope.errors import NotSignedIn

SECONDS = 600
LONGEST = 4000  # characters of a cookie that are looked at
LONGEST_TO = 1500
AGAIN = "the sign-in took too long, or began in another browser. Begin again."


@dataclass(frozen=True, slots=True)
class Begun:
    state: str
    nonce: str
    verifier: str  # of PKCE
    to: str  # the page that was asked for
    ends_ns: int


def begin(to: str) -> Begun:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Begun(state, nonce, verifier, to[:LONGEST_TO], time.time_ns() + SECONDS * 10**9)


def written(key: bytes, begun: Begun) -> str:
    """The value of the cookie."""
    body = _coded(json.dumps(astuple(begun)).encode())
    return f"{body}.{_signature(key, body)}"


def read(key: bytes, cookie: str, state: str) -> Begun:
    """What a browser began. Raises NotSignedIn unless this return, with this state, is its own."""
    body, _, signature = cookie[:LONGEST].partition(".")
    if not hmac.compare_digest(_signature(key, body).encode(), signature.encode()):
        raise NotSignedIn(AGAIN)
    begun = Begun(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
    if time.time_ns() >= begun.ends_ns or not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise NotSignedIn(AGAIN)
    return begun


def _signature(key: bytes, body: str) -> str:
    return _coded(hmac.new(key, b"rollscope openid " + body.encode(), hashlib.sha256).digest())


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
