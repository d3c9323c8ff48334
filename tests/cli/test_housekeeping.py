"""`tag`, `rename`, `archive`, `rm` and `restore` over real runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for id in ("sweep-1", "sweep-2", "best"):
        with rs.init(project="p", name=id, id=id, dir=tmp_path, host=False, tags=["first"]) as run:
            run.log({"x": 1.0}, step=0)
    return tmp_path


def call(capsys: Any, root: Path, *argv: str, code: int = 0) -> str:
    assert main([*argv, "--dir", str(root)]) == code
    out = capsys.readouterr()
    return str(out.out if code == 0 else out.err)


def listed(capsys: Any, root: Path, *more: str) -> dict[str, dict[str, Any]]:
    return {run["id"]: run for run in json.loads(call(capsys, root, "ls", "--json", *more))}


def test_a_tag_is_added_and_taken_away(root: Path, capsys: Any) -> None:
    call(capsys, root, "tag", "sweep-*", "scratch", "old")
    call(capsys, root, "tag", "best", "first", "--remove")
    tags = {id: run["tags"] for id, run in listed(capsys, root).items()}
    assert tags == {"sweep-1": ["first", "old", "scratch"], "sweep-2": ["first", "old", "scratch"], "best": []}
    assert rs.open(root).runs()[0].tags is not None


def test_a_renamed_run_is_found_by_both_names_until_it_has_its_first_again(root: Path, capsys: Any) -> None:
    call(capsys, root, "rename", "best", "GRPO, no KL")
    assert listed(capsys, root)["best"]["name"] == "GRPO, no KL" and "GRPO, no KL" in call(capsys, root, "ls")
    assert "best" in call(capsys, root, "show", "GRPO, no KL") and "best" in call(capsys, root, "show", "best")
    call(capsys, root, "rename", "best")
    assert listed(capsys, root)["best"]["name"] == "best"


def test_archived_runs_are_left_out_until_they_are_restored(root: Path, capsys: Any) -> None:
    call(capsys, root, "archive", "sweep-*")
    assert set(listed(capsys, root)) == {"best"} and len(listed(capsys, root, "--all")) == 3
    assert set(listed(capsys, root, "--limit", "1")) == {"best"}
    call(capsys, root, "restore", "sweep-1")
    assert set(listed(capsys, root)) == {"best", "sweep-1"}


def test_deleted_runs_come_back_or_go_for_good(root: Path, capsys: Any) -> None:
    assert "2 runs" in call(capsys, root, "rm", "sweep-*")
    assert set(listed(capsys, root, "--all")) == {"best"}
    assert "sweep-1  deleted" in call(capsys, root, "restore")
    call(capsys, root, "restore", "sweep-1")
    call(capsys, root, "rm", "--for-good", "sweep-2")
    assert set(listed(capsys, root)) == {"best", "sweep-1"} and "empty" in call(capsys, root, "restore")


def test_wrong_words_get_a_sentence(root: Path, capsys: Any) -> None:
    assert "no run fits 'x*'" in call(capsys, root, "archive", "x*", code=2)
    assert "not in the bin" in call(capsys, root, "rm", "--for-good", "best", code=2)
    assert "not in the bin" in call(capsys, root, "restore", "nobody", code=2)
    assert "1 to 200" in call(capsys, root, "rename", "best", "x" * 300, code=2)
    assert set(listed(capsys, root)) == {"best", "sweep-1", "sweep-2"}


NO_ROOM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from rollscope.cli import main
sys.exit(main(["compact", "--dir", sys.argv[1]]))
"""


def test_without_room_a_log_stays_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    with rs.init(id="full", dir=tmp_path, host=False) as run:
        run.log_samples([{"id": str(i), "completion": os.urandom(4000).hex()} for i in range(9)], step=1)
    before = sorted(path.name for path in (tmp_path / "full").iterdir())
    done = subprocess.run([sys.executable, "-c", NO_ROOM, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (
        done.returncode == 1 and "was not compacted: File too large. Its logs and sets are as they were" in done.stdout
    )
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == before
    assert len(rs.open(tmp_path).run("full").samples(columns=["completion"])["completion"]) == 9
