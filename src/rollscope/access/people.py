"""People who sign in at a provider of OpenID Connect, and what each of them may do: a TOML file.

A person's own entry counts; else the first group of the file that the person is in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rollscope.errors import BadInput, nearest
from rollscope.store import regular_file

from .book import ROLES, May

WORDS = ("issuer", "client", "address", "name_claim", "groups_claim", "hours")
TABLES = ("person", "group")
LOCAL = ("localhost", "127.0.0.1", "::1")
SHOULD = "See docs/sign-in.md for what it may say."


@dataclass(frozen=True, slots=True)
class Grant:
    """Projects, and what may be done in them."""

    projects: tuple[str, ...]
    may: May


@dataclass(frozen=True, slots=True)
class People:
    """Where people sign in, and who may do what."""

    issuer: str  # the provider's address, as it names itself
    client: str  # our name there
    address: str  # of this server, as people type it
    persons: Mapping[str, Grant]
    groups: Mapping[str, Grant]
    name_claim: str = "email"
    groups_claim: str = "groups"
    hours: float = 12.0  # until a person signs in again

    @property
    def back(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.address}/sign-in/openid/back"

    def grant(self, name: str, groups: Collection[str]) -> Grant | None:
        """What a person may do; None for someone whom the file does not know."""
        if name in self.persons:
            return self.persons[name]
        return next((grant for group, grant in self.groups.items() if group in groups), None)


def read(path: str) -> People:
    """What a file says. Raises BadInput with a sentence for one that cannot be used."""
    try:
        said = regular_file.read_toml(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path!r} cannot be read ({regular_file.why(error, named=False)}). {SHOULD}") from error
    for word in said:
        if word not in WORDS + TABLES:
            raise BadInput(f"{path!r} has an unknown entry {word[:40]!r}.{nearest(word, WORDS + TABLES)} {SHOULD}")
    issuer, client, address = (_text(said, word, path) for word in WORDS[:3])
    more = {word: _text(said, word, path) for word in ("name_claim", "groups_claim") if word in said}
    persons, groups = (_grants(said.get(table, {}), table, path) for table in TABLES)
    if not persons and not groups:
        raise BadInput(f"{path!r} lets nobody in: it has neither a [person] nor a [group]. {SHOULD}")
    hours = _hours(said.get("hours", 12.0), path)
    return People(_safe(issuer, path), client, _safe(address, path).rstrip("/"), persons, groups, hours=hours, **more)


def _text(said: Mapping[str, Any], word: str, path: str) -> str:
    value = said.get(word)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f'{path!r} needs `{word} = "…"`; it has {value!r}. {SHOULD}')
    return value.strip()


def _safe(address: str, path: str) -> str:
    """An address that nobody on the way can read."""
    try:
        parts = urlsplit(address)
        named = parts.username is not None or parts.password is not None
    except ValueError as error:
        raise BadInput(f"{path!r} has an address that cannot be read: {error}") from error
    if named:  # pages and the audit show the address
        raise BadInput(f"{path!r} has an address with a name or a password in it. Write it without. {SHOULD}")
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL):
        return address
    raise BadInput(f"{path!r} has the address {address[:200]!r}; it must begin with https://, except on this machine")


def _hours(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 720:
        raise BadInput(f"`hours` of {path!r} is a number above 0 and at most 720; it has {value!r}")
    return float(value)


def _grants(said: Any, table: str, path: str) -> dict[str, Grant]:
    if not isinstance(said, dict):
        raise BadInput(f'[{table}] of {path!r} is a table of names: [{table}."NAME"]')
    return {name: _grant(entry, f"[{table}.{name[:80]!r}] of {path!r}") for name, entry in said.items()}


def _grant(said: Any, where: str) -> Grant:
    projects = said.get("projects") if isinstance(said, dict) else None
    if not isinstance(projects, list) or not projects or not all(isinstance(one, str) and one for one in projects):
        raise BadInput(f'{where} needs `projects = ["…"]`, or ["*"] for all of them')
    may = next((role for role in ROLES if role == said.get("may")), None)
    if may is None or len(said) != 2:
        raise BadInput(f"{where} needs `may`, one of {', '.join(ROLES)}, and nothing beside `projects` and `may`")
    return Grant(tuple(projects), may)
