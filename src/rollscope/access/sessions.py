"""Sessions of browsers: a cookie that says who signed in, signed so that nobody can change it.

A session is good as long as its token is, at most 30 days, and until its browser signs out.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from rollscope.errors import NotSignedIn

from . import signed
from .book import Book, Token
from .tokens import DAY_NS, good

LONGEST_NS = 30 * DAY_NS
LONGEST = 400  # characters of a cookie that are looked at
AGAIN = "Sign in again."


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    token: str  # the id of the token that signed in
    ends_ns: int


def begin(book: Book, token: Token) -> tuple[Session, str]:
    """A new session and the value of its cookie."""
    ends = min(token.ends_ns, time.time_ns() + LONGEST_NS)
    session = Session(secrets.token_hex(12), token.id, ends)
    return session, signed.write(book.key(), "session", [session.id, session.token, session.ends_ns])


def read(key: bytes, cookie: str) -> Session:
    """The session of a cookie. Raises NotSignedIn for one that was changed, or is over."""
    fields = signed.read(key, "session", cookie[:LONGEST])
    if fields is None:
        raise NotSignedIn(f"the cookie of this browser is not one that this server gave. {AGAIN}")
    session = Session(str(fields[0]), str(fields[1]), int(fields[2]))
    if time.time_ns() >= session.ends_ns:
        raise NotSignedIn(f"this browser signed in too long ago. {AGAIN}")
    return session


def token_of(book: Book, session: Session) -> Token:
    """The token behind a session, if both still hold."""
    found = book.token(session.token)
    if found is None or book.is_ended(session.id):
        raise NotSignedIn(f"this browser signed out. {AGAIN}")
    return good(book, found[0])
