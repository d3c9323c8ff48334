"""A note that a reader writes has its author, and no secret."""

from __future__ import annotations

import getpass
from typing import Any

import rollscope as rs
from rollscope.store import notes


def test_a_note_says_who_wrote_it(world: Any) -> None:
    notes.write(str(world.run), {"kind": "note", "text": "lowered lr", "step": 3})
    written = rs.open(world.root).run("r1").notes()
    assert written["text"].tolist() == ["lowered lr"] and written["data"][0] == {"author": getpass.getuser()}


def test_a_secret_in_a_note_is_hidden(world: Any) -> None:
    notes.write(str(world.run), {"kind": "note", "text": "login: password=hunter2", "data": {"api_key": "hunter2"}})
    written = rs.open(world.root).run("r1").notes()
    assert "hunter2" not in str(written["text"][0]) and written["data"][0]["api_key"] == "[hidden]"
