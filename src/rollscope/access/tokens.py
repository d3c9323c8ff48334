"""Make, check and revoke tokens. The text of a token is shown once and kept nowhere.

`rsk_ID_SECRET`: the id finds the row, the secret is 32 random bytes. Only its SHA-256 is kept,
which is enough for a secret that nobody can guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence

from rollscope.errors import BadInput, NotFound, NotSignedIn, nearest

from .book import EVERY, ROLES, Book, Event, May, Token

SHAPE = re.compile(r"rsk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
LONGEST_NAME = 100
MOST_DAYS = 3660
DAY_NS = 86_400 * 10**9
USED_NS = 60 * 10**9  # between two times that the last use of a token is written


def make(
    book: Book,
    name: str,
    projects: Sequence[str],
    may: str,
    days: float,
    runs: Sequence[str] = (),
    boards: Sequence[str] = (),
    by: str = "",
) -> tuple[Token, str]:
    """A new token and its text, which cannot be had again."""
    role = checked(name, projects, may, days, runs)
    now, secret = time.time_ns(), secrets.token_urlsafe(32)
    ends = now + int(days * DAY_NS)
    seen = tuple(dict.fromkeys(projects)), tuple(runs), tuple(boards)
    token = Token(secrets.token_hex(6), name, *seen, role, now, ends)
    text = f"rsk_{token.id}_{secret}"
    book.add(token, digest(text))
    book.tell(Event(now, by or name, "made", f"{token.id} {name} may {may}: {covers(token)}"))
    return token, text


def checked(name: str, projects: Sequence[str], may: str, days: float, runs: Sequence[str]) -> May:
    """The role, if a token can be made of this; else a sentence says what is wrong."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"a token needs a name of 1 to {LONGEST_NAME} letters, such as the user's; got {name[:80]!r}")
    role = next((one for one in ROLES if one == may), None)
    if role is None:
        raise BadInput(f"a token may {', '.join(ROLES)}; not {may[:40]!r}")
    if not projects and not runs:
        raise BadInput("name the projects of the token with --project NAME, or all of them with --project '*'")
    if not 0 < days <= MOST_DAYS:
        raise BadInput(f"a token lasts more than 0 and at most {MOST_DAYS:,} days; got {days:g}")
    return role


def covers(token: Token) -> str:
    """What a token is for, in words."""
    if EVERY in token.projects:
        return "every project"
    parts = [f"project {name!r}" for name in token.projects] + [f"run {id!r}" for id in token.runs]
    parts += [f"board {name!r}" for name in token.boards]
    return ", ".join(parts)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check(book: Book, text: str) -> Token:
    """The token of this text. Raises NotSignedIn for one that is unknown, revoked or over."""
    shape = SHAPE.fullmatch(text.strip())
    found = book.token(shape[1]) if shape else None
    if shape is None or found is None or not hmac.compare_digest(found[1], digest(shape[0])):
        raise NotSignedIn("this token is unknown here. Ask who runs the server for one: rollscope token create")
    return good(book, found[0])


def good(book: Book, token: Token) -> Token:
    """The token, if it still holds; its use is written once a minute."""
    now = time.time_ns()
    state = token.state(now)
    if state == "revoked":
        raise NotSignedIn(f"the token of {token.name!r} was revoked. Ask who runs the server for a new one.")
    if state == "ended":
        raise NotSignedIn(f"the token of {token.name!r} is over since {day(token.ends_ns)}. Ask for a new one.")
    if now - token.used_ns > USED_NS:
        book.used(token.id, now)
    return token


def still_good(book: Book, token: Token) -> None:
    """Refuse a token that was revoked, or whose end has come, since it was checked."""
    found = book.token(token.id)
    if found is None:
        raise NotSignedIn(f"the token of {token.name!r} is gone")
    good(book, found[0])


def revoke(book: Book, named: str, by: str) -> list[Token]:
    """Revoke the token of this id, or every token of this name."""
    every = book.tokens()
    found = [token for token in every if named in (token.id, token.name) and not token.revoked_ns]
    if not found:
        known = {token.id for token in every} | {token.name for token in every}
        raise NotFound(f"no token {named[:80]!r} that holds.{nearest(named, known)} List them: rollscope token ls")
    now = time.time_ns()
    for token in found:
        book.revoke(token.id, now)
        book.tell(Event(now, by, "revoked", f"{token.id} {token.name}"))
    return found


def day(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(time_ns / 1e9))
