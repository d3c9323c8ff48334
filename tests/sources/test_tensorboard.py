"""TensorBoard's files: everything its own reader reads; damage is reported with its offset."""

from __future__ import annotations

import math
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "trl"
pytestmark = pytest.mark.filterwarnings("ignore")


def theirs(folder: Path) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def events_file(folder: Path) -> Path:
    return next(folder.rglob("*tfevents*"))


def write(folder: Path, rows: list[tuple[str, float, int]], suffix: str = "") -> Path:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder), filename_suffix=suffix)
    for tag, value, step in rows:
        writer.add_scalar(tag, value, step)
    writer.close()
    return folder


@pytest.mark.parametrize("run", ["grpo", "dpo", "grpo_nan"])
def test_every_scalar_that_tensorboard_reads_is_there(run: str, imported: Any) -> None:
    imported.take(GOLDEN / run / "tensorboard")
    expected = theirs(GOLDEN / run / "tensorboard")
    assert imported.names() == set(expected)
    for tag, values in expected.items():
        assert imported.series(tag) == values, tag


def test_the_run_has_its_framework_its_start_and_its_arguments(imported: Any) -> None:
    imported.take(GOLDEN / "grpo" / "tensorboard")
    record = imported.run().record()
    assert record["framework"] == "trl:grpo" and record["name"] == "grpo-tensorboard" and record["started_ns"] > 1.7e18
    assert imported.run().config["num_generations"] == 4


def test_odd_numbers_steps_and_names_are_kept(tmp_path: Path, imported: Any) -> None:
    rows = [
        ("a", math.nan, 0),
        ("a", math.inf, 1),
        ("a", -math.inf, 2**40),
        ("ü/名", 0.5, 127),
        ("ü/名", 0.25, 128),
        ("a" * 600, 1.0, 3),
    ]
    imported.take(write(tmp_path / "run", rows))
    series = imported.series("a")
    assert math.isnan(series[0]) and series[1] == math.inf and series[2**40] == -math.inf
    assert imported.series("ü/名") == {127: 0.5, 128: 0.25} and imported.series("a" * 600) == {3: 1.0}


def test_scalars_as_tensors_and_several_scalars_in_one_event(tmp_path: Path, imported: Any) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path / "run"))
    packed = TensorProto(dtype=1, tensor_content=struct.pack("<f", 0.5))
    listed = TensorProto(dtype=2, double_val=[0.1])
    integer = TensorProto(dtype=9, int64_val=[-7])
    values = [Summary.Value(tag=f"t{i}", tensor=t) for i, t in enumerate((packed, listed, integer))]
    writer.add_event(Event(wall_time=1.0, step=5, summary=Summary(value=values)))
    values = [Summary.Value(tag="x", simple_value=1), Summary.Value(tag="y", simple_value=2)]
    writer.add_event(Event(wall_time=1.0, step=6, summary=Summary(value=values)))
    writer.close()
    imported.take(tmp_path / "run")
    assert [imported.series(f"t{i}") for i in range(3)] == [{5: 0.5}, {5: 0.1}, {5: -7.0}]
    assert imported.series("x") == {6: 1.0} and imported.series("y") == {6: 2.0}


def test_histograms_are_reported_as_skipped(tmp_path: Path, imported: Any) -> None:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "run"))
    writer.add_histogram("weights", np.arange(10.0), 1)
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    report = imported.take(tmp_path / "run")
    assert any("'weights' is neither a number nor a text" in str(s) for s in report.skipped)
    assert imported.series("loss") == {1: 1.0}


def test_a_second_file_of_a_resumed_run_replaces_repeated_steps(tmp_path: Path, imported: Any) -> None:
    write(tmp_path / "run", [("loss", float(i), i) for i in range(10)], ".1")
    write(tmp_path / "run", [("loss", float(-i), i) for i in range(7, 12)], ".2")
    for later, file in enumerate(sorted((tmp_path / "run").iterdir(), key=lambda p: p.suffix)):
        file.rename(file.with_name(f"events.out.tfevents.{1000 + later}"))
    imported.take(tmp_path / "run")
    assert imported.series("loss") == {**{i: float(i) for i in range(7)}, **{i: float(-i) for i in range(7, 12)}}


def test_a_growing_file_is_continued_where_it_was_left(tmp_path: Path, imported: Any) -> None:
    source = events_file(write(tmp_path / "whole", [("loss", float(i), i) for i in range(100)]))
    data = source.read_bytes()
    part = tmp_path / "part" / source.name
    part.parent.mkdir()
    for cut in (len(data) // 3, len(data) // 2, len(data)):
        part.write_bytes(data[:cut])
        report = imported.take(part)
        assert any("middle of a record" in str(s) for s in report.skipped) == (cut < len(data))
    assert imported.series("loss") == {i: float(i) for i in range(100)}
    assert sum(b"loss" in log.read_bytes() for log in imported.root.rglob("*.log")) == 3


@pytest.mark.parametrize("where", ["value", "length"])
def test_a_flipped_bit_loses_one_record(where: str, tmp_path: Path, imported: Any) -> None:
    source = events_file(write(tmp_path / "run", [("loss", float(i), i) for i in range(100)]))
    data = bytearray(source.read_bytes())
    at = _record_start(data, 50) + (2 if where == "length" else 20)
    data[at] ^= 4
    source.write_bytes(data)
    report = imported.take(source)
    (skipped,) = [s for s in report.skipped if s.offset is not None]
    assert skipped.offset == _record_start(data, 50) and str(source) in str(skipped)
    series = imported.series("loss")
    assert len(series) == 99 and all(value == step for step, value in series.items())


def _record_start(data: bytes | bytearray, number: int) -> int:
    """The offset of a record, by walking the lengths before it."""
    at = 0
    for _ in range(number):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
    return at


@pytest.mark.parametrize(
    ("data", "reported"),
    [(b"", False), (bytes(5000), True), (b"\xff" * 5000, True)],
    ids=["empty", "zeros", "ones"],
)
def test_an_empty_file_and_one_of_zeros_are_survived(
    data: bytes, reported: bool, tmp_path: Path, imported: Any
) -> None:
    file = tmp_path / "events.out.tfevents.1"
    file.write_bytes(data)
    report = imported.take(file)
    assert not any("Please report" in str(item) for item in report.skipped)
    assert any(item.path == file for item in report.skipped) == reported
    assert all(counts == {"values": 0, "rows": 0} for counts in report.runs.values())


def test_a_killed_import_stores_nothing_twice(tmp_path: Path, imported: Any) -> None:
    """Rows beyond the committed length are truncated before the next import writes."""
    source = events_file(write(tmp_path / "run", [("loss", float(i), i) for i in range(50)]))
    imported.take(source)
    log = next(imported.root.rglob("*.log"))
    shutil.copy(log, log.with_name(log.name.replace(".0001.", ".0002.")))  # as if killed before the commit
    write(tmp_path / "more", [("loss", float(i), i) for i in range(50, 60)])
    source.write_bytes(source.read_bytes() + events_file(tmp_path / "more").read_bytes())
    imported.take(source)
    assert imported.series("loss") == {i: float(i) for i in range(60)}
    from rollscope.store.log.scan import scan

    values = [b.values.size for log in imported.root.rglob("*.log") for b in scan(log).blocks if hasattr(b, "values")]
    assert sum(values) == 60
