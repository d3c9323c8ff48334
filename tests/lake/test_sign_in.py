"""Sign-in over a lake: its tokens hold at every server over it, and are revoked at all of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from rollscope.access import tokens
from rollscope.access.book import Book, Event
from rollscope.access.door import Door, Shown
from rollscope.cli import main
from rollscope.errors import NotSignedIn, RollscopeError
from rollscope.lake.engine import LakeUnreachable
from rollscope.lake.place import Place
from rollscope.lake.serving import tokens as lake_tokens
from rollscope.lake.serving.postgres import Postgres as Database
from tests.lake.life import Life, pushed
from tests.lake.served import PATIENCE, serving
from tests.lake.servers import Postgres

ODD = 'O\'Brien \\ "é" $1 ; drop table x --'


@pytest.fixture(params=["lake", "team"])
def either(request: pytest.FixtureRequest) -> Place:
    """An embedded lake, and one in PostgreSQL."""
    place: Place = request.getfixturevalue(request.param)
    return place


def test_a_book_keeps_what_it_was_told(either: Place) -> None:
    mine, other = lake_tokens.book(either), lake_tokens.book(either)  # two servers
    assert lake_tokens.exists(either)
    token, text = tokens.make(mine, ODD, ["p/1", ODD], "record", 1, ["r'1"], by=ODD)
    assert tokens.check(other, text) == token
    assert other.tokens()[0].used_ns > 0 and other.tokens()[0].projects == ("p/1", ODD)
    assert mine.events(1) == other.events(1) and other.events(1)[0].who == ODD
    assert mine.key() == other.key() and len(mine.key()) == 32
    doors = Door(mine), Door(other)
    cookie = doors[0].sign_in(text)[2]
    assert doors[1].token(Shown(cookie, is_cookie=True)).id == token.id
    doors[1].sign_out(cookie)
    with pytest.raises(NotSignedIn, match="signed out"):
        doors[0].token(Shown(cookie, is_cookie=True))
    tokens.revoke(other, token.id, "root")
    with pytest.raises(NotSignedIn, match="revoked"):
        tokens.check(mine, text)
    assert [event.what for event in mine.events(4)] == ["revoked", "signed out", "signed in", "made"]


def test_the_audit_in_postgres_only_grows(team: Place) -> None:
    book: Book = lake_tokens.book(team)
    book.tell(Event(1, "nul \x00 and \ud800", "tried", "x"))
    assert book.events(1)[0].who == "nul \N{REPLACEMENT CHARACTER} and ?"
    for statement in ("update rollscope_access.audit set who = ''", "delete from rollscope_access.audit"):
        with pytest.raises(LakeUnreachable, match="the audit only grows"):
            Database(team, "the tokens").write(statement)


def test_a_database_that_is_down_is_a_sentence_without_the_statement(team: Place, postgres: Postgres) -> None:
    book = lake_tokens.book(team)
    token, text = tokens.make(book, "a-name-of-someone", ["p"], "read", 1)
    postgres.stop()
    try:
        for call in (lambda: book.token(token.id), lambda: book.tell(Event(1, "a-name-of-someone", "x", "y"))):
            with pytest.raises(RollscopeError, match="Does PostgreSQL run") as said:
                call()
            assert "a-name-of-someone" not in str(said.value) and postgres.password not in str(said.value)
    finally:
        postgres.start()
    assert tokens.check(book, text).id == token.id


def test_commands_keep_tokens_in_the_lake(either: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["token", "create", "trainer", "--project", "p/1", "--may", "record", "--lake", either.folder, "--json"]
    assert main(words) == 0
    made = json.loads(capsys.readouterr().out)
    assert tokens.check(lake_tokens.book(either), made["token"]).name == "trainer"
    assert main(["token", "revoke", made["id"], "--dir", either.folder]) == 0  # a folder that is a lake
    assert main(["token", "ls", "--lake", either.folder, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert next(token for token in listed if token["id"] == made["id"])["revoked_ns"]
    assert main(["token", "ls", "--lake", str(tmp_path)]) == 2
    assert "is no lake" in capsys.readouterr().err


def test_a_lake_without_tokens_cannot_be_served_with_sign_in(lake: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--lake", lake.folder, "--sign-in", "--no-browser"]) == 2
    assert "rollscope token create" in capsys.readouterr().err


def refused(client: httpx.Client) -> str:
    """The sentence of a 401, which comes within a second or so."""
    until = time.monotonic() + PATIENCE
    while (reply := client.get("api/runs")).status_code != 401:
        assert time.monotonic() < until
        time.sleep(0.05)
    return str(reply.json()["says"])


def test_two_servers_over_one_lake_agree(team: Place, tmp_path: Path) -> None:
    life = Life(tmp_path / "runs", "signed-1")
    life.grow()
    pushed(team, life)
    book = lake_tokens.book(team)
    ours = tokens.make(book, "ours", ["p/1"], "read", 1)[1]
    theirs = tokens.make(book, "theirs", ["p/2"], "read", 1)[1]
    with serving(team, tmp_path / "a", "--sign-in") as a, serving(team, tmp_path / "b", "--sign-in") as b:
        with a.client() as one, b.client() as two, b.client(ours) as program, a.client(theirs) as stranger:
            assert one.get("api/runs").status_code == 401
            assert one.post("api/session", json={"token": ours}).status_code == 200
            two.cookies = one.cookies
            assert "signed-1" in [run["id"] for run in two.get("api/runs").json()["runs"]]
            assert program.get("api/runs/signed-1").status_code == 200
            assert stranger.get("api/runs").json()["runs"] == []
            assert stranger.get("api/runs/signed-1").status_code == 404
            tokens.revoke(book, ours.split("_")[1], "root")
            assert "revoked" in refused(program) and "revoked" in refused(one) and "revoked" in refused(two)
        for server in (a, b):
            assert ours[-43:] not in server.said.read_text()
