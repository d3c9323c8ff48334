"""Tokens: made once, kept hashed, good for their days, revoked for good; and the audit of it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from rollscope.access import sessions, tokens
from rollscope.access.book import Event, Token
from rollscope.access.rates import Rates
from rollscope.access.sqlite_book import SqliteBook, place
from rollscope.errors import BadInput, CannotRead, CannotWrite, NotFound, NotSignedIn
from rollscope.trust.folders import digests


@pytest.fixture
def book(tmp_path: Path) -> SqliteBook:
    return SqliteBook(str(tmp_path))


def made(book: SqliteBook, days: float = 1, **more: object) -> tuple[Token, str]:
    return tokens.make(book, "alice", ["p"], "record", days, **more)  # type: ignore[arg-type]


def test_a_token_is_known_by_its_text_alone(book: SqliteBook) -> None:
    token, text = made(book)
    assert tokens.check(book, text).id == token.id and tokens.check(book, f" {text}\n").name == "alice"
    for wrong in ("", "rsk_", text[:-1], text + "x", text.replace("rsk", "rsq"), token.id, text.swapcase()):
        with pytest.raises(NotSignedIn, match="unknown"):
            tokens.check(book, wrong)


def test_the_file_has_no_token_and_is_its_owners(book: SqliteBook, tmp_path: Path) -> None:
    _, text = made(book)
    _, cookie = sessions.begin(book, tokens.check(book, text))
    for path in Path(tmp_path).rglob("*"):
        if path.is_file():
            assert text.encode() not in path.read_bytes() and text[-43:].encode() not in path.read_bytes()
            assert cookie.encode() not in path.read_bytes()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_that_is_over_or_revoked_says_so(book: SqliteBook) -> None:
    _, short = made(book, days=1e-9)
    with pytest.raises(NotSignedIn, match="is over since"):
        tokens.check(book, short)
    token, text = made(book)
    assert [gone.id for gone in tokens.revoke(book, token.id, "root")] == [token.id]
    with pytest.raises(NotSignedIn, match="was revoked"):
        tokens.check(book, text)
    with pytest.raises(NotFound, match="no token"):
        tokens.revoke(book, token.id, "root")


def test_the_last_use_is_shown(book: SqliteBook) -> None:
    token, text = made(book)
    assert book.tokens()[0].used_ns == 0
    tokens.check(book, text)
    assert time.time_ns() - book.tokens()[0].used_ns < 60 * 10**9
    assert book.tokens()[0].id == token.id


@pytest.mark.parametrize(
    ("name", "projects", "may", "days", "says"),
    [
        ("", ["p"], "read", 1, "name"),
        ("a\nb", ["p"], "read", 1, "name"),
        ("a", [], "read", 1, "--project"),
        ("a", ["p"], "write", 1, "read, record, admin"),
        ("a", ["p"], "read", 0, "days"),
        ("a", ["p"], "read", 10**9, "days"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(
    book: SqliteBook, name: str, projects: list[str], may: str, days: float, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        tokens.make(book, name, projects, may, days)
    assert book.tokens() == [] and book.events(10) == []


def test_the_audit_only_grows(book: SqliteBook, tmp_path: Path) -> None:
    token, _ = made(book, by="root")
    tokens.revoke(book, "alice", "root")
    assert [event.what for event in book.events(10)] == ["revoked", "made"]
    assert all(event.who == "root" and token.id in event.about for event in book.events(10))
    with sqlite3.connect(place(str(tmp_path))) as database:
        for attack in ("delete from audit", "update audit set who = 'someone else'"):
            with pytest.raises(sqlite3.DatabaseError, match="only grows"):
                database.execute(attack)
    assert len(book.events(10)) == 2


def test_two_processes_share_the_book(book: SqliteBook, tmp_path: Path) -> None:
    other = SqliteBook(str(tmp_path))
    _, text = made(other)
    assert tokens.check(book, text).name == "alice" and book.key() == other.key()
    before = book.changed()
    other.tell(Event(1, "a", "b", "c"))
    assert book.changed() != before or book.events(1) == other.events(1)


def test_a_session_holds_until_it_is_ended_and_cannot_be_changed(book: SqliteBook) -> None:
    token, _ = made(book)
    session, cookie = sessions.begin(book, token)
    read = sessions.read(book.key(), cookie)
    assert read == session and sessions.token_of(book, read).id == token.id
    body, _, signature = cookie.partition(".")
    for wrong in ("", ".", body, f"{body}.", f"A{body[1:]}.{signature}", f"{body}.{signature[:-2]}AA", "é.é"):
        with pytest.raises(NotSignedIn, match="Sign in again"):
            sessions.read(book.key(), wrong)
    book.end_session(session.id, session.ends_ns)
    with pytest.raises(NotSignedIn, match="signed out"):
        sessions.token_of(book, read)


def test_a_session_ends_with_its_token(book: SqliteBook) -> None:
    token, _ = made(book)
    session, cookie = sessions.begin(book, token)
    assert session.ends_ns == token.ends_ns
    tokens.revoke(book, token.id, "root")
    with pytest.raises(NotSignedIn, match="revoked"):
        sessions.token_of(book, sessions.read(book.key(), cookie))


def test_a_book_of_a_newer_version_or_a_link_in_its_place_is_not_touched(tmp_path: Path) -> None:
    SqliteBook(str(tmp_path)).close()
    with sqlite3.connect(place(str(tmp_path))) as database:
        database.execute("pragma user_version = 99")
    with pytest.raises(CannotRead, match="newer"):
        SqliteBook(str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    os.unlink(place(str(tmp_path)))
    os.symlink(elsewhere, place(str(tmp_path)))
    with pytest.raises(CannotWrite):
        SqliteBook(str(tmp_path))
    assert elsewhere.read_bytes() == b""


def test_a_token_that_is_used_asks_for_no_new_trust(book: SqliteBook, tmp_path: Path) -> None:
    (tmp_path / ".rollscope" / "rules").mkdir()
    (tmp_path / ".rollscope" / "rules" / "mine.py").write_text("# a rule")
    _, text = made(book)
    tokens.check(book, text)
    assert list(digests(str(tmp_path))) == ["rules/mine.py"]


def test_an_asker_waits_after_the_burst_and_others_do_not() -> None:
    now = 0.0
    rates = Rates(burst=3, a_second=2, clock=lambda: now)
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0]
    assert rates.wait("a") == pytest.approx(0.5) and rates.wait("b") == 0
    now += 0.5
    assert rates.wait("a") == 0 and rates.wait("a") > 0
