"""A disk that fills up during an import: what it took back comes again, and nothing twice."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.sources import Mark, RunStart
from rollscope.sources.intake import target
from rollscope.sources.intake.importer import Importer
from rollscope.sources.telescope import archives
from tests.sources.test_telescope import archive, tables


@pytest.fixture
def two_archives(tmp_path: Path) -> Path:
    later = tables()
    later["trainer"][0] |= {"start_time": 20.0, "end_time": 20.5, "step": 2}
    archive(tmp_path / "in" / "run1" / "steps" / "block_0.zip", tables())
    archive(tmp_path / "in" / "run1" / "steps" / "block_1.zip", later)
    return tmp_path / "in"


def full_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The disk is full when the second mark is written, once."""
    real, calls = target.Target._write_run_state, list[str]()

    def write(self: target.Target) -> None:
        calls.append(self.run.id)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self)

    monkeypatch.setattr(target.Target, "_write_run_state", write)
    return calls


@pytest.mark.parametrize("follows", [False, True])
def test_what_a_full_disk_took_back_is_imported_again(
    two_archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follows: bool
) -> None:
    (tmp_path / "runs").mkdir()
    calls, importer = full_once(monkeypatch), Importer(tmp_path / "runs")
    with pytest.raises(rs.RollscopeError, match="No space left"):
        importer.take([two_archives])
    if not follows:
        importer.close()
        importer = Importer(tmp_path / "runs")
    importer.take([two_archives])
    importer.close()
    assert len(calls) > 2
    assert sorted(rs.open(tmp_path / "runs").run().spans()["step"].tolist()) == [1, 2]


def test_archives_that_did_not_change_are_not_marked_again(two_archives: Path) -> None:
    folder = two_archives / "run1" / "steps"
    first = [item for item in archives.rows(folder, {}) if isinstance(item, Mark)]
    id = next(item.id for item in archives.rows(folder, {}) if isinstance(item, RunStart))
    again = [item for item in archives.rows(folder, {id: first[-1].cursor}) if isinstance(item, Mark)]
    assert first and not again
