"""What is kept about access: tokens, sessions that were ended, and what happened.

`Book` is what a place to keep it must offer. A file beside the runs is one such
place, the catalogue of a lake another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rollscope.store.listing.allowed import Allowed

May = Literal["read", "record", "admin"]
ROLES: tuple[May, ...] = ("read", "record", "admin")  # each may do what those before it may
EVERY = "*"  # in place of a project: all of them
COLUMNS = "id, name, projects, runs, boards, may, made_ns, ends_ns, used_ns, revoked_ns"  # of a book's tokens


@dataclass(frozen=True, slots=True)
class Token:
    """What a token allows, and what is known about it. The token itself is nowhere."""

    id: str
    name: str  # who uses it
    projects: tuple[str, ...]
    runs: tuple[str, ...]  # single runs, for a link that was shared
    boards: tuple[str, ...]  # and single boards
    may: May
    made_ns: int
    ends_ns: int
    used_ns: int = 0  # 0: never
    revoked_ns: int = 0  # 0: it was not

    @property
    def allowed(self) -> Allowed | None:
        """The runs that its holder sees; None: all."""
        if EVERY in self.projects:
            return None
        return Allowed(frozenset(self.projects), frozenset(self.runs), frozenset(self.boards))

    def json(self) -> dict[str, Any]:
        """All that is known about it; a time that has not come is None."""
        lists = {"projects": list(self.projects), "runs": list(self.runs), "boards": list(self.boards)}
        times = {"made_ns": self.made_ns, "ends_ns": self.ends_ns}
        later = {"used_ns": self.used_ns or None, "revoked_ns": self.revoked_ns or None}
        return {"id": self.id, "name": self.name, **lists, "may": self.may, **times, **later}

    def can(self, needed: May) -> bool:
        return ROLES.index(self.may) >= ROLES.index(needed)

    def state(self, now_ns: int) -> Literal["good", "ended", "revoked"]:
        if self.revoked_ns:
            return "revoked"
        return "good" if now_ns < self.ends_ns else "ended"


def token_of(row: Sequence[Any]) -> Token:
    """A token of its COLUMNS, where lists are kept as JSON."""
    id, name, *lists, may, made_ns, ends_ns, used_ns, revoked_ns = row
    projects, runs, boards = (tuple(json.loads(text)) for text in lists)
    return Token(id, name, projects, runs, boards, may, made_ns, ends_ns, used_ns, revoked_ns)


@dataclass(frozen=True, slots=True)
class Event:
    """Who did what, to what, and when."""

    time_ns: int
    who: str
    what: str  # made, revoked, signed in, signed out, refused, deleted, ...
    about: str


class Book(Protocol):
    """Where tokens and events are kept. Threads may use it at once."""

    def add(self, token: Token, digest: str) -> None: ...
    def token(self, id: str) -> tuple[Token, str] | None:
        """A token and the digest of its text."""
        ...

    def tokens(self) -> list[Token]:
        """All of them, the newest first."""
        ...

    def revoke(self, id: str, now_ns: int) -> None: ...
    def used(self, id: str, now_ns: int) -> None: ...
    def changed(self) -> object:
        """A value that differs once anything was written, by whomever."""
        ...

    def key(self) -> bytes:
        """The key that signs sessions: made once, the same for every server."""
        ...

    def end_session(self, session: str, until_ns: int) -> None: ...
    def is_ended(self, session: str) -> bool: ...
    def tell(self, event: Event) -> None:
        """Add an event. None is ever changed or removed."""
        ...

    def events(self, most: int) -> list[Event]:
        """The newest, newest first."""
        ...
