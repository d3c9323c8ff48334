"""The surroundings that are written about a run."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from rollscope.record.about.provenance import machine, packages


def test_packages_are_those_that_are_installed() -> None:
    versions = {each.metadata["Name"].lower().replace("_", "-"): each.version for each in metadata.distributions()}
    assert packages() == dict(sorted(versions.items())) and "numpy" in versions


def test_the_first_folder_of_the_path_counts_and_other_files_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, entry in (
        ("a", "Some_Thing-1.2.dev3+local.dist-info"),
        ("b", "some_thing-9.9.dist-info"),
        ("b", "old-0.5-py3.11.egg-info"),
        ("b", "notes.txt"),
    ):
        (tmp_path / folder / entry).mkdir(parents=True)
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "nowhere"), str(tmp_path / "b")])
    assert packages() == {"old": "0.5", "some-thing": "1.2.dev3+local"}


FORKS = """
import os, sys, time

children, seen = [], []
def fork(event, _):
    if event in ("subprocess.Popen", "os.posix_spawn"):
        seen.append(event)
        if event == "subprocess.Popen":  # a pipe of it would be open now
            child = os.fork()
            if not child:
                time.sleep(60)
                os._exit(0)
            children.append(child)
sys.addaudithook(fork)
from rollscope.record.about import provenance
began = time.monotonic()
try:
    provenance.machine()
    assert not seen, "a process was started to describe the machine"
    found = provenance.git()
finally:
    for child in children:
        os.kill(child, 9)
print(found["commit"], round(time.monotonic() - began, 1), sorted(set(seen)))
"""


def test_a_fork_of_the_program_at_any_instant_does_not_hold_the_answer_back(tmp_path: Path) -> None:
    """A data loader that forks while git runs used to keep a training waiting at its end."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    known = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path, check=True, env=os.environ | known
    )
    done = subprocess.run(
        [sys.executable, "-c", FORKS], cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    commit, seconds, events = done.stdout.strip().split(" ", 2)
    assert len(commit) == 40 and float(seconds) < 10
    assert events == "['os.posix_spawn', 'subprocess.Popen']"  # which is to start a process without a pipe


def test_the_machine_is_described_while_another_thread_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))  # as it is until `torch.cuda` is there
    assert machine()["cpus"] and "gpus" not in machine()
