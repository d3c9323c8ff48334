"""A run recorded before the code was moved into rooms still opens, with the same answers."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.store.fixtures.before_rooms.answers import answers

FIXTURE = Path(__file__).parent / "fixtures" / "before_rooms"
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text())


@pytest.fixture(scope="module")
def new_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("runs") / "before"
    shutil.copytree(FIXTURE / "before", folder)
    return json.loads(json.dumps(answers(folder)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("question", EXPECTED)
def test_an_answer_is_what_the_old_code_gave(new_answers: dict[str, Any], question: str) -> None:
    assert known(new_answers[question], EXPECTED[question]) == EXPECTED[question]


def known(new: Any, old: Any) -> Any:
    """The answer without columns that the old code did not have: tables may grow."""
    return {key: new[key] for key in old} if isinstance(new, dict) and isinstance(old, dict) else new


def test_the_fixture_has_a_sealed_set_and_a_live_log() -> None:
    names = os.listdir(FIXTURE / "before")
    assert sorted(name.rsplit(".", 1)[1] for name in names) == ["json", "log", "sealed"]
    assert {len(column) for column in EXPECTED["samples"].values()} == {2 * 4 * 3}, "two writers, four steps"
