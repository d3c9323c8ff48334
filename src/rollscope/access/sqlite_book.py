"""The book as one SQLite file beside the runs: `.rollscope/access/book.db`, for its owner alone.

Several servers and commands may use it at once. The audit is append-only: the database itself
refuses to change or remove one of its rows.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rollscope.errors import CannotRead, CannotWrite
from rollscope.store.listing.entries import HOME, is_run

from .book import COLUMNS, Event, Token, token_of

FOLDER, NAME = "access", "book.db"
VERSION = 1
WAIT_SECONDS = 10.0  # for another process that writes
SCHEMA = """
create table tokens (
    id text primary key, digest text not null, name text not null, projects text not null, runs text not null,
    boards text not null, may text not null, made_ns integer not null, ends_ns integer not null,
    used_ns integer not null default 0, revoked_ns integer not null default 0
);
create table keys (name text primary key, key blob not null);
create table ended (session text primary key, until_ns integer not null);
create table audit (time_ns integer not null, who text not null, what text not null, about text not null);
create trigger audit_is_not_changed before update on audit begin select raise(abort, 'the audit only grows'); end;
create trigger audit_is_not_cut before delete on audit begin select raise(abort, 'the audit only grows'); end;
"""


def place(root: str) -> str:
    """The path of the book of a folder of runs; a run's own folder has that of its parent."""
    folder = os.path.abspath(root)
    folder = os.path.dirname(folder) if is_run(folder) else folder
    return os.path.join(folder, HOME, FOLDER, NAME)


def exists(root: str) -> bool:
    return os.path.isfile(place(root))


class SqliteBook:
    """The book of a folder of runs. It is made when it is opened for the first time."""

    def __init__(self, root: str) -> None:
        self.path = place(root)
        self._lock = threading.Lock()
        with self._said():
            _make(self.path)
            self._database = sqlite3.connect(self.path, WAIT_SECONDS, check_same_thread=False, isolation_level=None)
            self._prepare()

    def _prepare(self) -> None:
        with self._writing() as database:
            version = database.execute("pragma user_version").fetchone()[0]
            if version > VERSION:
                raise CannotRead(f"{self.path} was made by a newer Rollscope (version {version}). Upgrade this one.")
            if version == 0:
                for statement in _statements():
                    database.execute(statement)
                database.execute("insert into keys values ('session', ?)", [secrets.token_bytes(32)])
                database.execute(f"pragma user_version = {VERSION}")

    @contextmanager
    def _said(self) -> Iterator[None]:
        """An error of the disk or of the file becomes a sentence."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CannotWrite(f"the tokens in {self.path} cannot be used: {error}. Is the file yours?") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._said():
            self._database.execute("begin immediate")
            try:
                yield self._database
            except BaseException:
                self._database.execute("rollback")
                raise
            self._database.execute("commit")

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock, self._said():
            return self._database.execute(query, values).fetchall()

    # ---- tokens

    def add(self, token: Token, digest: str) -> None:
        lists = map(json.dumps, (token.projects, token.runs, token.boards))
        row = (token.id, token.name, *lists, token.may, token.made_ns, token.ends_ns, digest)
        with self._writing() as database:
            database.execute(
                "insert into tokens (id, name, projects, runs, boards, may, made_ns, ends_ns, digest)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def token(self, id: str) -> tuple[Token, str] | None:
        found = self._read(f"select {COLUMNS}, digest from tokens where id = ?", (id,))
        return (token_of(found[0][:-1]), found[0][-1]) if found else None

    def tokens(self) -> list[Token]:
        return [token_of(row) for row in self._read(f"select {COLUMNS} from tokens order by made_ns desc, id")]

    def revoke(self, id: str, now_ns: int) -> None:
        with self._writing() as database:
            database.execute("update tokens set revoked_ns = ? where id = ? and revoked_ns = 0", [now_ns, id])

    def used(self, id: str, now_ns: int) -> None:
        with self._writing() as database:
            database.execute("update tokens set used_ns = max(used_ns, ?) where id = ?", [now_ns, id])

    def changed(self) -> object:
        with self._said():
            status = os.stat(self.path)
        return status.st_mtime_ns, status.st_size, status.st_ino

    # ---- sessions

    def key(self) -> bytes:
        return bytes(self._read("select key from keys where name = 'session'")[0][0])

    def end_session(self, session: str, until_ns: int) -> None:
        with self._writing() as database:
            database.execute("insert or replace into ended values (?, ?)", [session, until_ns])

    def is_ended(self, session: str) -> bool:
        return bool(self._read("select 1 from ended where session = ?", (session,)))

    # ---- the audit

    def tell(self, event: Event) -> None:
        with self._writing() as database:
            database.execute("insert into audit values (?, ?, ?, ?)", _fields(event))

    def events(self, most: int) -> list[Event]:
        query = "select time_ns, who, what, about from audit order by rowid desc limit ?"
        return [Event(*row) for row in self._read(query, (most,))]

    def close(self) -> None:
        with self._lock:
            self._database.close()


def _make(path: str) -> None:
    """The file and its folders, which only their owner can read; a link in its place is refused."""
    folder = os.path.dirname(path)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o700)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("it is no regular file")
    finally:
        os.close(fd)


def _statements() -> list[str]:
    """The statements of the schema; a trigger has a `;` of its own."""
    return [f"create {part.strip()}" for part in SCHEMA.split("create ") if part.strip()]


def _fields(event: Event) -> tuple[int, str, str, str]:
    return event.time_ns, event.who, event.what, event.about
