"""Who stands at the door: the token behind a bearer header or a session, asked of the book.

An answer is kept for a moment, and as long as the book has not changed: a page sends many requests
at once, and a token that is revoked is refused within a second.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

from rollscope.errors import NotSignedIn

from . import sessions, tokens
from .book import Book, Event, Token
from .rates import Rates
from .sessions import Session

FRESH_SECONDS = 1.0
MOST_KEPT = 1000
BURST, A_SECOND = 300.0, 50.0  # requests of one token
WRONG_BURST, WRONG_A_SECOND = 20.0, 0.2  # wrong credentials from one address


@dataclass(frozen=True, slots=True)
class Shown:
    """What a request shows: a token, or the cookie of a session."""

    text: str
    is_cookie: bool = False

    @property
    def key(self) -> str:
        """What stands for it in memory, where the text itself is not kept."""
        return hashlib.sha256(f"{self.is_cookie} {self.text}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Kept:
    changed: Any
    at: float
    token: Token


class Door:
    """Threads may ask at once."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._key = book.key()
        self.cookie = f"rollscope_{hashlib.sha256(self._key).hexdigest()[:8]}"  # cookies of a host know no port
        self._kept: dict[str, _Kept] = {}
        self.requests, self.wrong = Rates(BURST, A_SECOND), Rates(WRONG_BURST, WRONG_A_SECOND)

    def known(self, shown: Shown) -> Token | None:
        """The token, if it was looked up a moment ago and the book is as it was."""
        kept = self._kept.get(shown.key)
        if kept is None or time.monotonic() - kept.at > FRESH_SECONDS or kept.changed != self.book.changed():
            return None
        return kept.token if kept.token.state(time.time_ns()) == "good" else None

    def token(self, shown: Shown) -> Token:
        """The token behind what a request shows. Raises NotSignedIn if there is none that holds."""
        changed = self.book.changed()
        token = self._by_cookie(shown.text) if shown.is_cookie else tokens.check(self.book, shown.text)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[shown.key] = _Kept(changed, time.monotonic(), token)
        return token

    def _by_cookie(self, text: str) -> Token:
        return sessions.token_of(self.book, sessions.read(self._key, text))

    def sign_in(self, text: str) -> tuple[Token, Session, str]:
        """The token of a text, a new session, and the value of its cookie."""
        token = tokens.check(self.book, text)
        session, cookie = sessions.begin(self.book, token)
        self.tell(token, "signed in", f"with {token.id}")
        return token, session, cookie

    def sign_out(self, cookie: str) -> None:
        """End a session for good. An unknown cookie is no error: the browser is signed out."""
        try:
            session = sessions.read(self._key, cookie)
            token = sessions.token_of(self.book, session)
        except NotSignedIn:
            return
        self.book.end_session(session.id, session.ends_ns)
        self._kept.clear()
        self.tell(token, "signed out", f"with {token.id}")

    def tell(self, token: Token | None, what: str, about: str) -> None:
        """Write to the audit; without a token, of someone unknown."""
        self.book.tell(Event(time.time_ns(), token.name if token else "", what, about))
