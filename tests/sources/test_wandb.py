"""W&B's offline files, read without W&B: everything that was logged comes back."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources import wandb
from rollscope.sources.files import leveldb

SCRIPT = """
import math, os, sys, wandb
config = {"lr": 0.1, "model": {"layers": 2}}
settings = wandb.Settings(silent=True, console="off")
r = wandb.init(
    project="p", name="first", mode="offline", dir=sys.argv[1], config=config, tags=["a"], settings=settings
)
for i in range(300):
    r.log({"loss": 1 / (i + 1), "actor/pg_loss": -i, "flag": True, "ü": 0.5, "nested": {"x": i}}, step=i)
odd = {"odd": math.nan, "up": math.inf, "down": -math.inf, "none": None, "text": "hello", "big": 10**17}
r.log({**odd, "long" * 50: 1.5}, step=300)
r.log({"table": wandb.Table(columns=["a"], data=[[1]])}, step=301)
r.finish()
"""


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wb")
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], check=True, capture_output=True)
    return next(folder.rglob("*.wandb"))


def test_everything_that_was_logged_is_there(offline: Path, imported: Any) -> None:
    imported.take(offline)
    assert imported.series("loss") == {i: 1 / (i + 1) for i in range(300)}
    assert imported.series("actor/pg_loss") == {i: float(-i) for i in range(300)}
    assert imported.series("ü") == dict.fromkeys(range(300), 0.5)
    assert imported.series("flag") == dict.fromkeys(range(300), 1.0)
    assert imported.series("nested.x") == {i: float(i) for i in range(300)}
    assert math.isnan(imported.series("odd")[300])
    assert imported.series("up") == {300: math.inf} and imported.series("down") == {300: -math.inf}
    assert imported.series("big") == {300: 1e17} and imported.series("long" * 50) == {300: 1.5}
    assert "none" not in imported.names()


def test_facts_of_the_run_and_skipped_values(offline: Path, imported: Any) -> None:
    report = imported.take(offline)
    record = imported.run().record()
    assert (record["name"], record["project"]) == ("first", "p")
    assert (record["framework"], record["state"]) == ("verl", "finished")
    assert imported.run().config == {"lr": 0.1, "model": {"layers": 2}}
    skipped = " ".join(map(str, report.skipped))
    assert "'text' holds the text 'hello'" in skipped and "'table' holds a dict" in skipped and "table." not in skipped


def test_a_declared_axis_is_the_step(tmp_path: Path, imported: Any) -> None:
    code = """
import sys, wandb
r = wandb.init(project="p", mode="offline", dir=sys.argv[1], settings=wandb.Settings(silent=True, console="off"))
r.define_metric("train/global_step"); r.define_metric("*", step_metric="train/global_step", step_sync=True)
for step in (5, 3, 9): r.log({"train/loss": float(step), "train/global_step": step})
r.finish()"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True)
    imported.take(tmp_path)
    assert imported.series("train/loss") == {3: 3.0, 5: 5.0, 9: 9.0}


def test_a_value_with_an_axis_of_its_own_is_at_its_steps(tmp_path: Path, imported: Any) -> None:
    code = """
import sys, wandb
r = wandb.init(project="p", mode="offline", dir=sys.argv[1], settings=wandb.Settings(silent=True, console="off"))
r.define_metric("val/*", step_metric="val/round"); r.define_metric("val/slow", step_metric="seen")
for i in range(6):
    r.log({"loss": float(i), "seen": 100 * i})
    if i % 3 == 2: r.log({"val/round": i // 3 + 1, "val/acc": i / 10, "val/slow": float(-i)})
r.finish()"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True)
    imported.take(tmp_path)
    assert imported.series("val/acc") == {1: 0.2, 2: 0.5} and imported.series("val/slow") == {200: -2.0, 500: -5.0}
    assert imported.series("loss") == {0: 0.0, 1: 1.0, 2: 2.0, 4: 3.0, 5: 4.0, 6: 5.0}  # W&B counts its calls
    clocks = imported.run().sql("select distinct name, clock from metrics where name like 'val/%' order by name")
    assert [*clocks["clock"]] == ["val/round", "val/round", "seen"]


def test_the_fast_reading_of_a_row_agrees_with_the_slow_one(offline: Path) -> None:
    from rollscope.sources.files import wire

    with offline.open("rb") as file:
        for record in leveldb.records(file, 7):
            assert isinstance(record, leveldb.Record)
            for field, value in wire.fields(record.data):
                if field == wandb.HISTORY and (row := wandb.fast_items(value)) is not None:
                    slow = wandb.items(value)
                    assert row == {name: v for name, v in slow.items() if name in row}
                    assert len(row) >= len(slow) - 1


def record_in_the_middle(path: Path) -> leveldb.Record:
    """The record of one block around the middle of a file: one of several is cut elsewhere."""
    half = path.stat().st_size // 2
    with path.open("rb") as file:
        for record in leveldb.records(file, 7):
            assert isinstance(record, leveldb.Record)
            if record.end > half and record.offset // leveldb.BLOCK == (record.end - 1) // leveldb.BLOCK:
                return record
    raise AssertionError("no record ends after the middle")


def test_a_file_that_is_cut_off_gives_its_complete_records(offline: Path, tmp_path: Path, imported: Any) -> None:
    data = offline.read_bytes()
    part = tmp_path / "run-x.wandb"
    cut = record_in_the_middle(offline)
    part.write_bytes(data[: cut.end - 1])
    report = imported.take(part)
    assert [s.offset for s in report.skipped if "middle of a record" in str(s)] == [cut.offset]
    half = imported.series("loss")
    assert 50 < len(half) < 250 and all(value == 1 / (step + 1) for step, value in half.items())
    part.write_bytes(data)
    imported.take(part)
    assert imported.series("loss") == {i: 1 / (i + 1) for i in range(300)}


def test_a_flipped_bit_loses_a_block_and_is_reported_with_its_offset(
    offline: Path, tmp_path: Path, imported: Any
) -> None:
    data = bytearray(offline.read_bytes())
    at = data.index(b"actor/pg_loss", 40000)
    data[at + 3] ^= 1
    damaged = tmp_path / "run-x.wandb"
    damaged.write_bytes(data)
    report = imported.take(damaged)
    assert any("checksum" in s.why and 0 < s.offset <= at for s in report.skipped)
    steps = imported.series("loss")
    assert 0 in steps and 299 in steps and 100 < len(steps) < 300


def test_the_fast_path_is_taken_for_plain_rows() -> None:
    from rollscope.sources.files.wire import fields

    def item(name: bytes, value: bytes) -> bytes:
        inner = b"\x12" + bytes([len(name)]) + name + b"\x82\x01" + bytes([len(value)]) + value
        return b"\n" + bytes([len(inner)]) + inner

    row = {
        "loss": 0.5,
        "a b": -1e-9,
        "_step": 3,
        "n": math.nan,
        "up": math.inf,
        "down": -math.inf,
        "s": "NaN",
        "none": None,
        "yes": True,
    }
    data = b"".join(item(name.encode(), json.dumps(value).encode()) for name, value in row.items())
    assert list(fields(data)) and str(wandb.fast_items(data)) == str({**row, "_step": 3.0})
    assert wandb.fast_items(data + b"\n\x03abc") is None
