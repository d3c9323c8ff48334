"""What is written about a run's surroundings."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from rollscope.record.about.provenance import packages


def test_packages_are_those_that_are_installed() -> None:
    installed = {found.metadata["Name"].lower().replace("_", "-"): found.version for found in metadata.distributions()}
    assert packages() == dict(sorted(installed.items())) and "numpy" in installed


def test_of_two_places_the_first_counts_and_what_is_no_package_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, entry in (
        ("a", "Some_Thing-1.2.dev3+local.dist-info"),
        ("b", "some_thing-9.9.dist-info"),
        ("b", "old-0.5-py3.11.egg-info"),
        ("b", "notes.txt"),
    ):
        (tmp_path / place / entry).mkdir(parents=True)
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "nowhere"), str(tmp_path / "b")])
    assert packages() == {"old": "0.5", "some-thing": "1.2.dev3+local"}
