"""Spilled files go with their process: at its end, or when the next process needs a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope.store.tables import spill

PROGRAM = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from rollscope.store.tables import spill
with spill.folder() as folder:
    open(folder + "/spilled", "w").close()
    print("made", flush=True)
    sys.stdin.read()
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="no flock")


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"made\n"
    return process


def end(process: subprocess.Popen[bytes], kill: bool = False) -> None:
    if kill:
        process.kill()
    process.communicate(timeout=60)


@posix
def test_a_process_removes_its_folder_when_it_ends(tmp_path: Path) -> None:
    end(start(tmp_path))
    assert os.listdir(tmp_path) == []


@posix
def test_the_folder_of_a_killed_process_is_removed_and_of_a_living_one_kept(tmp_path: Path) -> None:
    living, killed = start(tmp_path), start(tmp_path)
    try:
        end(killed, kill=True)
        assert len(os.listdir(tmp_path)) == 2
        end(start(tmp_path))
        assert len(os.listdir(tmp_path)) == 1 and list(tmp_path.glob("*/spilled"))
    finally:
        end(living)


@posix
def test_a_folder_that_is_being_made_is_kept_and_a_link_never_followed(tmp_path: Path) -> None:
    (tmp_path / "rollscope-spill-new").mkdir()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    (tmp_path / "rollscope-spill-link").symlink_to(precious)
    end(start(tmp_path))
    assert (tmp_path / "rollscope-spill-new").is_dir() and (precious / "file").exists()


SWEEPING = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from rollscope.store.tables import spill
while not sys.stdin.closed and spill.os.path.exists(sys.argv[2]):
    spill.sweep()
"""


@posix
def test_a_folder_is_never_taken_from_a_process_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes sweep all the time while folders are made."""
    go = tmp_path / "go"
    go.touch()
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-c", SWEEPING, str(place), str(go)]
    sweepers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    monkeypatch.setattr("tempfile.tempdir", str(place))
    try:
        for _ in range(2000):
            with spill.folder() as folder:
                assert not folder or os.path.exists(os.path.join(folder, spill.LOCK)), "its folder was removed"
    finally:
        go.unlink()
        for sweeper in sweepers:
            sweeper.communicate(timeout=60)


@posix
def test_a_folder_that_another_process_removes_meanwhile_is_let_go(tmp_path: Path) -> None:
    (tmp_path / f"{spill.PREFIX}gone").mkdir()
    with os.scandir(tmp_path) as entries:
        entry = next(entries)
    os.rmdir(entry.path)
    spill._sweep(entry)
