"""Links, pipes and devices in an imported folder: nothing outside of it is read, nothing blocks."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

SECRET = "correct horse battery staple"
LINE = '{"step": 1, "a": 2}\n'


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The folder to import, and one beside it."""
    inside, outside = tmp_path / "in", tmp_path / "disk"
    inside.mkdir()
    outside.mkdir()
    (inside / "near.jsonl").write_text(LINE)
    (outside / "far.jsonl").write_text(LINE)
    return inside, outside


def names(report: Any) -> set[str]:
    return {Path(path).name for path in report.files}


def test_a_link_out_of_the_folder_is_reported_and_read_only_with_trust(folders: Any, imported: Any) -> None:
    inside, outside = folders
    (inside / "far.jsonl").symlink_to(outside / "far.jsonl")
    (inside / "again.jsonl").symlink_to(inside / "near.jsonl")
    report = imported.take(inside)
    (skipped,) = report.skipped
    assert names(report) == {"near.jsonl"} and skipped.path == inside / "far.jsonl"
    assert "leads out" in skipped.why and str(outside / "far.jsonl") in skipped.why
    assert names(imported.take(inside, trust=True)) == {"near.jsonl", "far.jsonl"}


def test_a_link_that_is_given_is_followed(folders: Any, imported: Any) -> None:
    inside, outside = folders
    (inside / "link.jsonl").symlink_to(outside / "far.jsonl")
    assert names(imported.take(inside / "link.jsonl")) == {"link.jsonl"} and imported.series("a") == {1: 2.0}


def test_loops_pipes_and_devices_end_at_once(folders: Any, imported: Any) -> None:
    inside, _ = folders
    (inside / "self.jsonl").symlink_to("self.jsonl")
    (inside / "loop").symlink_to(inside)
    (inside / "zero.jsonl").symlink_to("/dev/zero")
    os.mkfifo(inside / "pipe.jsonl")
    report = imported.take(inside, Path("/dev/zero"), inside / "self.jsonl")
    assert names(report) == {"near.jsonl"}
    reasons = {item.path.name: item.why for item in report.skipped}
    assert "neither a file" in reasons["zero"] and "neither a file" in reasons["pipe.jsonl"]
    assert "leads out" in reasons["zero.jsonl"] and "cannot be opened" in reasons["self.jsonl"]


def test_folders_in_folders_without_end_are_walked(tmp_path: Path, imported: Any) -> None:
    here = tmp_path
    for _ in range(800):
        here = here / "d"
    os.makedirs(here)
    (here / "log.jsonl").write_text(LINE)
    assert names(imported.take(tmp_path)) == {"log.jsonl"}


def test_a_parameter_that_is_a_link_out_of_a_run_of_mlflow_is_not_read(tmp_path: Path, imported: Any) -> None:
    (tmp_path / "secret").write_text(SECRET)
    run = tmp_path / "mlruns" / "0" / "run"
    for name in ("metrics", "params"):
        (run / name).mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: r\nrun_name: n\n")
    (run / "metrics" / "loss").write_text("1700000000000 0.5 1\nnot a line\n")
    (run / "params" / "lr").write_text("0.1")
    (run / "params" / "key").symlink_to(tmp_path / "secret")
    imported.take(tmp_path / "mlruns")
    assert imported.series("loss") == {1: 0.5} and imported.run().config == {"lr": "0.1"}


def field(number: int, data: bytes) -> bytes:
    assert len(data) < 128 and number < 16
    return bytes([number << 3 | 2, len(data)]) + data


def wandb_file(path: Path, row: dict[str, Any]) -> Path:
    """A W&B file with one history row of nested keys."""
    items = b""
    for key, value in row.items():
        text = json.dumps(value).encode()
        item = b"".join(field(2, part.encode()) for part in key.split("."))
        item += bytes([0x82, 1, len(text)]) + text
        items += b"\x0a" + bytes([len(item)]) + item if len(item) < 128 else b""
    record = b"\x12" + struct.pack("B", len(items) & 0x7F | 0x80) + struct.pack("B", len(items) >> 7) + items
    chunk = struct.pack("<IHB", zlib.crc32(record, zlib.crc32(b"\x01")), len(record), 1) + record
    path.write_bytes(b":W&B" + b"\0\0\0" + chunk)
    return path


@pytest.mark.parametrize("path", ["../../secret.table.json", "link.table.json", "{absolute}", "table.json"])
def test_a_table_that_a_wandb_file_names_must_lie_below_its_files(path: str, tmp_path: Path, imported: Any) -> None:
    table = json.dumps({"columns": ["prompt", "completion"], "data": [["p", SECRET]]})
    run = tmp_path / "wandb"
    (run / "files").mkdir(parents=True)
    (tmp_path / "secret.table.json").write_text(table)
    (run / "files" / "table.json").write_text(table)
    (run / "files" / "link.table.json").symlink_to(tmp_path / "secret.table.json")
    path = path.format(absolute=tmp_path / "secret.table.json")
    row = {"_step": 1, "loss": 0.5, "t._type": "table-file", "t.path": path}
    imported.take(wandb_file(run / "run-x.wandb", row))
    assert imported.series("loss") == {1: 0.5}
    assert [s["completion"] for s in imported.table("samples")] == ([SECRET] if path == "table.json" else [])
