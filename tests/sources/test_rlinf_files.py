"""RLinf's videos become samples that show them; a copy lies in the run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rollscope.server.routes.samples.media import below
from rollscope.sources.intake import media
from tests.recorded import held, recorded
from tests.sources.good_files import box

WHOLE = box(b"ftyp", b"isom") + box(b"mdat", bytes(500)) + box(b"moov", bytes(100))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training with two rounds of a worker, one of another, and an evaluation."""
    folder = tmp_path / "logs" / "reach"
    for path in ("train/seed_0/0", "train/seed_0/1", "train/seed_1/0", "eval/seed_0/0", "eval/seed_0/task 3/0"):
        file = folder / "video" / f"{path}.mp4"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(WHOLE + path.encode())
    return folder


def test_videos_are_samples_that_show_them(folder: Path, imported: Any) -> None:
    report = imported.take(folder)
    assert not report.skipped and set(report.files.values()) == {"rlinf"}
    run = imported.run()
    rows = run.samples()
    shown = {id: media[0] for id, media in zip(rows["id"], rows["media"], strict=True)}
    assert sorted(shown) == ["eval/0/0", "eval/0/task-3/0", "train/0/0", "train/0/1", "train/1/0"]
    for id, one in shown.items():
        assert one["kind"] == "video" and below(run.path, one["path"]).read_bytes()[: len(WHOLE)] == WHOLE
        assert below(run.path, one["path"]).read_bytes().endswith(id.split("/")[-1].encode())
    at = {id: (step, split) for id, step, split in zip(rows["id"], rows["step"].tolist(), rows["split"], strict=True)}
    assert at["train/0/1"] == (1, "train") and at["eval/0/0"] == (0, "eval")
    assert run.record()["name"] == "reach" and run.record()["framework"] == "rlinf"
    assert recorded(run) == held("rlinf")
    assert all(one == {"values": 0, "rows": 0} for one in imported.take(folder).runs.values())


def test_a_video_that_was_cut_off_is_reported_and_taken_once_it_is_whole(folder: Path, imported: Any) -> None:
    file = folder / "video" / "train" / "seed_0" / "1.mp4"
    file.write_bytes(WHOLE[:-50])
    (skipped,) = imported.take(folder).skipped
    assert skipped.path == file and "no player opens it" in skipped.why
    assert len(imported.run().samples()["id"]) == 4 and not list(imported.root.rglob("train_0_1*"))
    file.write_bytes(WHOLE)
    assert not imported.take(folder).skipped and len(imported.run().samples()["id"]) == 5


def test_a_video_that_was_written_again_replaces_its_copy(folder: Path, imported: Any) -> None:
    imported.take(folder)
    file = folder / "video" / "train" / "seed_0" / "1.mp4"
    file.write_bytes(WHOLE + b"longer")
    report = imported.take(folder)
    assert ["rewritten" in item.why for item in report.skipped] == [True]
    (copy,) = imported.root.rglob("train_0_1.mp4")
    assert copy.read_bytes().endswith(b"longer") and len(imported.run().samples()["id"]) == 5


def test_a_video_that_is_too_large_is_said_and_not_copied(
    folder: Path, imported: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "LARGEST", len(WHOLE) + 20)
    (folder / "video" / "train" / "seed_0" / "1.mp4").write_bytes(WHOLE + bytes(100))
    (skipped,) = imported.take(folder).skipped
    assert "files up to 0 MB are copied" in skipped.why and not list(imported.root.rglob("train_0_1.mp4"))


def test_a_link_out_of_the_folder_is_not_copied(folder: Path, tmp_path: Path, imported: Any) -> None:
    secret = tmp_path / "secret.mp4"
    secret.write_bytes(WHOLE + b"secret")
    os.symlink(secret, folder / "video" / "train" / "seed_0" / "2.mp4")
    imported.take(folder)
    assert not any(file.read_bytes().endswith(b"secret") for file in imported.root.rglob("*.mp4"))
