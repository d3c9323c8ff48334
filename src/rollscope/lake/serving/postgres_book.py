"""The book in PostgreSQL: the schema `rollscope_access` of the catalogue's database.

Any number of servers and commands use it at once. The audit is append-only: the database itself
refuses to change or remove one of its rows.
"""

from __future__ import annotations

import json
import secrets

from rollscope.access.book import COLUMNS, Event, Token, token_of
from rollscope.errors import CannotRead
from rollscope.lake import engine
from rollscope.lake.place import Place

from .postgres import Postgres, text

SCHEMA = "rollscope_access"
VERSION = 1
TABLES = f"""
create schema if not exists {SCHEMA};
create table if not exists {SCHEMA}.version (number bigint not null);
create table if not exists {SCHEMA}.tokens (
    id text primary key, digest text not null, name text not null, projects text not null, runs text not null,
    boards text not null, may text not null, made_ns bigint not null, ends_ns bigint not null,
    used_ns bigint not null default 0, revoked_ns bigint not null default 0
);
create table if not exists {SCHEMA}.keys (name text primary key, key text not null);
create table if not exists {SCHEMA}.ended (session text primary key, until_ns bigint not null);
create table if not exists {SCHEMA}.audit (
    number bigint generated always as identity, time_ns bigint not null, who text not null, what text not null,
    about text not null
);
create or replace function {SCHEMA}.refuse() returns trigger language plpgsql as
    'begin raise exception ''the audit only grows''; end';
create or replace trigger audit_is_not_changed before update or delete or truncate on {SCHEMA}.audit
    for each statement execute function {SCHEMA}.refuse();
"""


def exists(place: Place) -> bool:
    return _is_in(Postgres(place, "the tokens"))


def _is_in(database: Postgres) -> bool:
    return bool(database.read(f"select 1 where to_regclass('{SCHEMA}.tokens') is not null"))


class PostgresBook:
    """The book of a lake. It is made when it is opened for the first time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._database = Postgres(place, "the tokens")
        self._read, self._write = self._database.read, self._database.write
        if not _is_in(self._database):
            with engine.exclusively(place, SCHEMA):  # two servers may start at once
                self._make()
        self._check_version()

    def _make(self) -> None:
        self._write(TABLES)
        if not self._read(f"select 1 from {SCHEMA}.version"):
            self._write(f"insert into {SCHEMA}.version values ({VERSION})")
        key = text(secrets.token_hex(32))
        self._write(f"insert into {SCHEMA}.keys values ('session', {key}) on conflict do nothing")

    def _check_version(self) -> None:
        version = max((row[0] for row in self._read(f"select number from {SCHEMA}.version")), default=0)
        if version > VERSION:
            raise CannotRead(
                f"the tokens of the lake {self.place.folder!r} were made by a newer Rollscope (version {version})."
                " Upgrade this one."
            )

    # ---- tokens

    def add(self, token: Token, digest: str) -> None:
        lists = [json.dumps(list(some)) for some in (token.projects, token.runs, token.boards)]
        texts = ", ".join(map(text, (token.id, digest, token.name, *lists, token.may)))
        self._write(
            f"insert into {SCHEMA}.tokens (id, digest, name, projects, runs, boards, may, made_ns, ends_ns)"
            f" values ({texts}, {token.made_ns:d}, {token.ends_ns:d})"
        )

    def token(self, id: str) -> tuple[Token, str] | None:
        found = self._read(f"select {COLUMNS}, digest from {SCHEMA}.tokens where id = {text(id)}")
        return (token_of(found[0][:-1]), found[0][-1]) if found else None

    def tokens(self) -> list[Token]:
        return [token_of(row) for row in self._read(f"select {COLUMNS} from {SCHEMA}.tokens order by made_ns desc, id")]

    def revoke(self, id: str, now_ns: int) -> None:
        self._write(f"update {SCHEMA}.tokens set revoked_ns = {now_ns:d} where id = {text(id)} and revoked_ns = 0")

    def used(self, id: str, now_ns: int) -> None:
        where = f"where id = {text(id)} and used_ns < {now_ns:d}"
        self._write(f"update {SCHEMA}.tokens set used_ns = {now_ns:d} {where}")

    def changed(self) -> object:
        """What this process has written. What others wrote is seen when a kept answer ends."""
        return self._database.written

    # ---- sessions

    def key(self) -> bytes:
        return bytes.fromhex(self._read(f"select key from {SCHEMA}.keys where name = 'session'")[0][0])

    def end_session(self, session: str, until_ns: int) -> None:
        self._write(f"insert into {SCHEMA}.ended values ({text(session)}, {until_ns:d}) on conflict do nothing")

    def is_ended(self, session: str) -> bool:
        return bool(self._read(f"select 1 from {SCHEMA}.ended where session = {text(session)}"))

    # ---- the audit

    def tell(self, event: Event) -> None:
        texts = ", ".join(map(text, (event.who, event.what, event.about)))
        self._write(f"insert into {SCHEMA}.audit (time_ns, who, what, about) values ({event.time_ns:d}, {texts})")

    def events(self, most: int) -> list[Event]:
        query = f"select time_ns, who, what, about from {SCHEMA}.audit order by number desc limit {most:d}"
        return [Event(*row) for row in self._read(query)]
