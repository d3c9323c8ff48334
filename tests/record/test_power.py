"""A power loss at any instant: what was synced is there, and nothing is wrong or twice."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.record.write import log_files
from rollscope.store.seal import logs
from tests.record.power import Journal, after_power_loss, steps_on_disk, surely_on_disk

STEPS = 150
LOSSES = 60


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync at every look, and begin a new log after some kilobytes."""
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")  # the test seals
    monkeypatch.setattr(log_files, "SYNC_SECONDS", 0.0)
    monkeypatch.setattr(log_files, "ROTATE", 8_000)


def record(journal: Journal, folder: Path) -> None:
    with journal:
        run = rs.init(id="r", dir=folder, host=False)
        for step in range(STEPS):
            run.log({f"m{i}": float(step) for i in range(40)}, step=step)
            if step % 5 == 4:
                assert run.flush(60)
            if step % 50 == 49:
                logs.seal(str(folder / "r"))
        run.finish()
        logs.seal(str(folder / "r"))


@pytest.mark.usefixtures("hasty")
def test_what_was_synced_survives_a_power_loss_at_any_instant(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs")
    record(journal, tmp_path / "runs")
    kinds = {entry.what for entry in journal.entries}
    assert {"make", "write", "sync", "sync folder", "rename", "remove"} <= kinds, (
        "the journal sees the recorder's calls"
    )
    dice, sure = random.Random(1), set[int]()
    for loss in range(LOSSES):
        count = dice.randint(0, len(journal.entries))
        after_power_loss(journal, count, disk := tmp_path / f"disk{loss}", dice)
        sure = surely_on_disk(journal, count, tmp_path)
        found = steps_on_disk(disk / "r")
        assert sure <= found, f"after {count} of {len(journal.entries)} entries: {sorted(sure - found)} are lost"
    assert surely_on_disk(journal, len(journal.entries), tmp_path) == set(range(STEPS))


def test_an_unsynced_rename_would_be_noticed(tmp_path: Path) -> None:
    """The disk of these tests does lose what nobody synced."""
    (root := tmp_path / "root").mkdir()
    with (journal := Journal(root)):
        fd = os.open(root / "a.log", os.O_CREAT | os.O_WRONLY)
        os.write(fd, b"x" * 10_000)
        os.close(fd)
    contents = set()
    for seed in range(30):
        after_power_loss(journal, len(journal.entries), disk := tmp_path / f"disk{seed}", random.Random(seed))
        contents.add((disk / "a.log").read_bytes() if (disk / "a.log").exists() else None)
    assert None in contents and b"x" * 10_000 in contents and len(contents) > 3
