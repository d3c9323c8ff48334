"""The file that says who may sign in at a provider is read strictly; each fault gets a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.access import people
from rollscope.access.people import Grant
from rollscope.errors import BadInput

GOOD = """
issuer = "https://login.example.org"
client = "rollscope"
address = "https://runs.example.org/"
[person."ann@example.org"]
projects = ["*"]
may = "admin"
[group.ml]
projects = ["a", "b"]
may = "record"
[group.all]
projects = ["b"]
may = "read"
"""


def written(folder: Path, text: str) -> str:
    path = folder / "people.toml"
    path.write_text(text)
    return str(path)


def test_an_own_entry_counts_then_the_first_group(tmp_path: Path) -> None:
    said = people.read(written(tmp_path, GOOD))
    assert said.back == "https://runs.example.org/sign-in/openid/back" and said.hours == 12
    assert said.grant("ann@example.org", ["all"]) == Grant(("*",), "admin")
    assert said.grant("bob@example.org", ["all", "ml"]) == Grant(("a", "b"), "record")
    assert said.grant("eve@example.org", ["ML"]) is None and said.grant("", []) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("issuer", "isuer", "unknown entry 'isuer'. Did you mean 'issuer'?"),
        ('"https://login.example.org"', '"http://login.example.org"', "must begin with https://"),
        ('"https://runs.example.org/"', '"ftp://127.0.0.1"', "must begin with https://"),
        ('client = "rollscope"', "client = 7", 'needs `client = "…"`; it has 7'),
        ('may = "admin"', 'may = "own"', "one of read, record, admin"),
        ('may = "admin"', 'may = "admin"\nalso = 1', "nothing beside"),
        ('projects = ["*"]', 'projects = "*"', 'needs `projects = ["…"]`'),
        ('projects = ["a", "b"]', "projects = []", 'needs `projects = ["…"]`'),
        ("[person", "hours = 0\n[person", "a number above 0"),
        ("[person", "hours = true\n[person", "a number above 0"),
        (GOOD[GOOD.index("[person") :], "", "lets nobody in"),
        (GOOD[GOOD.index("[person") :], "person = 1", "is a table of names"),
        ("issuer =", "issuer", "cannot be read"),
        ("issuer =", f"x = {'[' * 100_000}\nissuer =", "cannot be read"),
        ('"https://login.example.org"', '"https://ann:hunter2@login.example.org"', "a name or a password in it"),
        ('"https://runs.example.org/"', '"http://:hunter2@runs.example.org/"', "a name or a password in it"),
        ('"https://login.example.org"', '"https://[login"', "an address that cannot be read"),
    ],
)
def test_a_fault_gets_a_sentence(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(BadInput) as raised:
        people.read(written(tmp_path, GOOD.replace(old, new, 1)))
    assert says in str(raised.value) and "hunter2" not in str(raised.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        people.read(str(tmp_path / "none.toml"))
