"""Trust holds for a folder's files as they were, and for nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput, CannotRead, NotFound, NotTrusted, RollscopeError
from rollscope.trust import folders, trusted

VIEWER = "viewers/maze.js"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROLLSCOPE_CONFIG", str(tmp_path / "config"))
    folder = tmp_path / "project"
    (folder / ".rollscope" / "viewers").mkdir(parents=True)
    (folder / ".rollscope" / VIEWER).write_text("export function draw() {}")
    return folder


def test_nothing_is_trusted_unasked(project: Path) -> None:
    assert not trusted.is_trusted(str(project))
    with pytest.raises(NotTrusted, match=r"was not trusted yet\. Read it.*rollscope trust"):
        trusted.read(str(project), VIEWER)


def test_a_trusted_file_is_read_until_it_changes(project: Path) -> None:
    trusted.trust(str(project))
    assert trusted.is_trusted(str(project)) and trusted.read(str(project), VIEWER) == b"export function draw() {}"
    (project / ".rollscope" / VIEWER).write_text("export function draw() { steal() }")
    assert not trusted.is_trusted(str(project))
    with pytest.raises(NotTrusted, match="changed since"):
        trusted.read(str(project), VIEWER)


def test_a_new_file_is_asked_about_and_the_old_ones_still_run(project: Path) -> None:
    trusted.trust(str(project))
    (project / ".rollscope" / "rules").mkdir()
    (project / ".rollscope" / "rules" / "mine.py").write_text("x = 1")
    states = {piece.path: piece.state for piece in trusted.pieces(str(project))}
    assert states == {VIEWER: "trusted", "rules/mine.py": "new"}
    assert trusted.read(str(project), VIEWER) and not trusted.is_trusted(str(project))


def test_the_same_files_elsewhere_are_not_trusted(project: Path, tmp_path: Path) -> None:
    trusted.trust(str(project))
    os.rename(project, tmp_path / "moved")
    assert not trusted.is_trusted(str(tmp_path / "moved")) and not trusted.is_trusted(str(project))
    assert trusted.distrust(str(project)) and not trusted.distrust(str(project))


def test_a_link_out_of_the_folder_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text("secret")
    (project / ".rollscope" / "viewers" / "out.js").symlink_to(tmp_path / "secret.js")
    for path in ("viewers/out.js", "../../secret.js"):
        with pytest.raises(BadInput, match="leads out of"):
            folders.read(str(project), path)
    with pytest.raises(NotFound, match="no file"):
        folders.read(str(project), "viewers/none.js")


def test_a_damaged_list_trusts_nobody(project: Path) -> None:
    trusted.trust(str(project))
    place = Path(trusted.config_folder()) / "trusted.json"
    for text in ("{", "[]", json.dumps({str(project): {VIEWER: 1}})):
        place.write_text(text)
        assert not trusted.is_trusted(str(project))
        with pytest.raises(CannotRead, match="Mend or delete it"):
            trusted.trust(str(project))


def test_a_project_folder_is_the_folder_of_runs_or_the_one_around_it(project: Path) -> None:
    with rs.init(project="p", id="one", dir=project / "runs", host=False) as run:
        run.log({"x": 1.0}, step=0)
    for root in (project / "runs", project / "runs" / "one", project):
        assert folders.project_folder(str(root)) == str(project)
    assert folders.project_folder(str(project.parent.parent / "nowhere" / "runs")) is None


def test_the_command_trusts_lists_and_takes_back(project: Path, capsys: Any) -> None:
    assert main(["trust"]) == 0 and "No folder is trusted" in capsys.readouterr().out
    assert main(["trust", str(project)]) == 0
    said = capsys.readouterr().out
    assert "new" in said and VIEWER in said and "1 file, as they are now" in said
    assert main(["trust"]) == 0 and str(project) in capsys.readouterr().out
    assert main(["trust", str(project), "--remove"]) == 0 and not trusted.is_trusted(str(project))
    assert main(["trust", str(project / ".rollscope" / "viewers")]) == 2
    assert "nothing in it asks for trust" in capsys.readouterr().err


def test_a_folder_of_thousands_of_files_is_refused(project: Path) -> None:
    for number in range(folders.MOST_FILES + 1):
        (project / ".rollscope" / f"{number}.js").touch()
    with pytest.raises(RollscopeError, match="more than 500 files"):
        trusted.trust(str(project))
