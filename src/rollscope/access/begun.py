"""A sign-in that has begun at a provider: a signed cookie of ten minutes, good for one return.

It holds what the return must match, so that no one else's return is taken for this browser's.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import astuple, dataclass

from rollscope.errors import NotSignedIn

from . import signed

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
    return signed.write(key, "openid", astuple(begun))


def read(key: bytes, cookie: str, state: str) -> Begun:
    """What a browser began. Raises NotSignedIn unless this return, with this state, is its own."""
    fields = signed.read(key, "openid", cookie[:LONGEST])
    if fields is None:
        raise NotSignedIn(AGAIN)
    begun = Begun(*fields)
    if time.time_ns() >= begun.ends_ns or not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise NotSignedIn(AGAIN)
    return begun
