"""The surroundings that are written about a run."""

from __future__ import annotations

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


def test_the_machine_is_described_while_another_thread_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))  # as it is until `torch.cuda` is there
    assert machine()["cpus"] and "gpus" not in machine()
