"""The bin: a deleted run comes back whole, or goes for good; a living one is refused."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.errors import BadInput, CannotWrite, NotFound
from rollscope.store.project import deleted
from rollscope.store.project.log import ProjectLog


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")  # a sealer would move files while a test counts them
    for id in ("a", "b", "c"):
        record(tmp_path, id)
    return tmp_path


def record(root: Path, id: str) -> None:
    with rs.init(project="p", name=id, id=id, dir=root, host=False) as run:
        run.log({"x": 1.0}, step=0)


def delete(root: Path, *ids: str) -> None:
    store = rs.open(root)
    deleted.delete(store.project, ids, lambda id: contextlib.nullcontext(store.read(id)), "ann")


def files(folder: Path) -> dict[str, int]:
    return {entry.name: entry.stat().st_size for entry in os.scandir(folder)}


def test_a_deleted_run_is_in_no_list_and_comes_back_whole(root: Path) -> None:
    before = files(root / "a")
    delete(root, "a", "b")
    assert rs.open(root).ids() == ["c"] and [run.id for run in rs.open(root).runs()] == ["c"]
    log = ProjectLog(str(root))
    assert [(run.id, run.author) for run in deleted.deleted(log)] == [("b", "ann"), ("a", "ann")]
    deleted.restore(log, ["a"])
    assert rs.open(root).ids() == ["a", "c"] and files(root / "a") == before
    assert [run.id for run in deleted.deleted(log)] == ["b"]
    assert rs.open(root).run("a").series("x")["value"].tolist() == [1.0]


def test_a_run_that_is_gone_for_good_leaves_nothing(root: Path) -> None:
    delete(root, "a")
    log = ProjectLog(str(root))
    deleted.remove(log, ["a"])
    assert deleted.deleted(log) == [] and list((root / ".bin").iterdir()) == []
    with pytest.raises(NotFound, match="not in the bin"):
        deleted.restore(log, ["a"])


LIVING = """
import sys
import rollscope as rs
run = rs.init(project="p", name="living", id="living", dir=sys.argv[1], host=False)
run.log({"x": 1.0}, step=0)
run.flush(60)
print("began", flush=True)
sys.stdin.readline()
"""


def test_a_living_run_is_refused_and_then_none_is_moved(root: Path) -> None:
    command = [sys.executable, "-c", LIVING, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "began\n"
        try:
            with pytest.raises(CannotWrite, match="'living' is alive"):
                delete(root, "a", "living")
            assert rs.open(root).ids() == ["a", "b", "c", "living"]
        finally:
            process.kill()
    delete(root, "living")  # killed a moment ago: its process is gone
    assert rs.open(root).ids() == ["a", "b", "c"]


def test_a_newer_run_of_the_same_id_is_not_replaced(root: Path) -> None:
    delete(root, "a")
    record(root, "a")
    log = ProjectLog(str(root))
    with pytest.raises(CannotWrite, match="another run has its id"):
        deleted.restore(log, ["a"])
    delete(root, "a")
    assert [run.id for run in deleted.deleted(log)] == ["a", "a"]
    deleted.restore(log, ["a"])
    assert [run.id for run in deleted.deleted(log)] == ["a"] and "a" in rs.open(root).ids()


def test_the_bin_is_known_without_the_log(root: Path) -> None:
    delete(root, "a")
    os.unlink(root / "project.jsonl")
    log = ProjectLog(str(root))
    assert [(run.id, run.author) for run in deleted.deleted(log)] == [("a", "")]
    deleted.restore(log, ["a"])
    assert "a" in rs.open(root).ids()


def test_the_folder_that_is_open_cannot_be_deleted(root: Path) -> None:
    with pytest.raises(BadInput, match="the folder that is open"):
        delete(root / "a", "a")


def test_a_link_goes_without_what_it_leads_to(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    os.rename(root / "a", elsewhere / "a")
    (root / "a").symlink_to(elsewhere / "a")
    delete(root, "a")
    deleted.remove(ProjectLog(str(root)), ["a"])
    assert "run.json" in files(elsewhere / "a") and rs.open(root).ids() == ["b", "c"]
