"""`rollscope token` and `rollscope share`, and when `rollscope serve` asks for them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.access import tokens
from rollscope.access.sqlite_book import SqliteBook, exists
from rollscope.cli import main, serve
from rollscope.errors import BadInput


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_a_token_is_made_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = ("--dir", str(tmp_path))
    made = said(capsys, "token", "create", "alice", "--project", "p", "--may", "record", "--days", "3", *here)
    text = made.splitlines()[-1]
    assert tokens.check(SqliteBook(str(tmp_path)), text).may == "record"
    listed = said(capsys, "token", "ls", *here)
    assert "alice" in listed and "project 'p'" in listed and text not in listed
    row = json.loads(said(capsys, "token", "ls", "--json", *here))[0]
    assert row["name"] == "alice" and row["projects"] == ["p"] and row["used_ns"] and not row["revoked_ns"]
    assert "Revoked" in said(capsys, "token", "revoke", "alice", *here)
    assert "revoked" in said(capsys, "token", "ls", *here)
    assert [line.split()[4] for line in said(capsys, "token", "audit", *here).splitlines()] == ["revoked", "made"]


def test_a_token_of_no_project_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "create", "alice", "--dir", str(tmp_path)]) == 2
    assert "--project" in capsys.readouterr().err and not exists(str(tmp_path))
    assert main(["token", "revoke", "alice", "--dir", str(tmp_path)]) == 2
    assert "no token" in capsys.readouterr().err


def test_a_link_opens_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with rs.init(project="p", name="a", id="a b", dir=tmp_path, host=False) as run:
        run.log({"x": 1.0}, step=0)
    url = ("--url", "https://runs.example.org/x/")
    link = said(capsys, "share", "a b", "--days", "2", *url, "--dir", str(tmp_path)).splitlines()[1]
    address, _, fragment = link.partition("#")
    assert address == "https://runs.example.org/x/sign-in" and fragment.startswith("to=r%2Fa%2520b&token=rsk_")
    token = tokens.check(SqliteBook(str(tmp_path)), fragment.rpartition("token=")[2])
    assert token.runs == ("a b",) and token.projects == () and token.may == "read"
    rs.open(tmp_path).project.append("board", "b 1", {"panels": []})
    link = said(capsys, "share", "a b", "--board", "b 1", "--dir", str(tmp_path)).splitlines()[1]
    assert "#to=r%2Fa%2520b%2Fmetrics%3Fboard%3Db%25201&token=rsk_" in link
    assert main(["share", "a b", "--board", "none", "--dir", str(tmp_path)]) == 2


def _args(**given: object) -> argparse.Namespace:
    usual = {"host": "127.0.0.1", "port": 7700, "sign_in": False, "insecure": False, "certificate": None}
    return argparse.Namespace(**{**usual, "behind_proxy": False, "openid": None, **given})


def test_serve_asks_when_it_is_told_or_open_with_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = str(tmp_path)
    assert serve._book(_args(), here) is None and serve._book(_args(host="0.0.0.0"), here) is None
    with pytest.raises(BadInput, match="rollscope token create"):
        serve._book(_args(sign_in=True), here)
    tokens.make(SqliteBook(here), "a", ["p"], "read", 1)
    assert serve._book(_args(), here) is None
    assert serve._book(_args(sign_in=True), here) is not None
    assert capsys.readouterr().err == ""
    assert serve._book(_args(host="0.0.0.0"), here) is not None
    assert "unencrypted" in capsys.readouterr().err
    assert serve._book(_args(host="0.0.0.0", insecure=True), here) is None
    tokens.revoke(SqliteBook(here), "a", "root")
    with pytest.raises(BadInput, match="no token that holds"):
        serve._book(_args(host="0.0.0.0"), here)
    assert serve._book(_args(openid="people.toml"), here) is not None, "a provider needs no token"


def test_half_a_certificate_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for certificate, key in ((str(empty), None), (None, str(empty)), (str(empty), str(empty)), ("no", "no")):
        with pytest.raises(BadInput, match="TLS"):
            serve._check_certificate(certificate, key)
