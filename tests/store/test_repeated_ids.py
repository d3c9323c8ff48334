"""The ids that sealed sets share: the manifest lists the same ones as a comparison of all ids."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.store.seal import compact, logs
from rollscope.store.sealed import manifest, repeated_ids
from rollscope.views.steps import step_statistics
from tests.store.second_reader import Reader
from tests.store.second_reader import manifest as second_manifest


def steps(w: Any, first: int, last: int, size: int = 8) -> None:
    for step in range(first, last):
        same = {"step": step, "time_ns": step, "trained": True}
        w.rows(
            "samples",
            [
                {"id": f"{step}-{i}", "group": f"{step}-{i // 4}", "reward": float(i * step % 5), **same}
                for i in range(size)
            ],
        )


def three_sets(world: Any) -> None:
    w = world.writer()
    for first in (0, 10, 20):
        steps(w, first, first + 10)
        w.rotate()
    assert logs.seal(str(world.run)) == 3


def spoil(world: Any, file: str) -> None:
    for path in world.run.glob(f"*.sealed/{file}"):
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw)


def older(world: Any) -> None:
    """The sets as an older version wrote them."""
    for path in world.run.glob("*.sealed"):
        facts, _ = manifest.read(str(path))
        facts.pop("shared", None)
        facts["sidecars"].pop("ids.prefix", None)
        (path / "ids.prefix").unlink(missing_ok=True)
        manifest.write(str(path), {name: value for name, value in facts.items() if name != "format"})


def statistics(world: Any) -> dict[str, Any]:
    return {
        name: {k: v.tolist() for k, v in series.items()}
        for name, series in step_statistics(rs.open(world.root).run("r1")).items()
    }


def close(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        for column in a[name]:
            np.testing.assert_allclose(a[name][column], b[name][column], rtol=1e-12, err_msg=name)


def reward(world: Any, step: int) -> float:
    found = step_statistics(rs.open(world.root).run("r1"))["reward/generated/mean"]
    return float(found["value"][found["step"].tolist().index(step)])


def test_statistics_of_sets_that_know_each_other_read_no_ids(world: Any) -> None:
    """A byte of every list of ids is flipped: had one been read, it would be said."""
    three_sets(world)
    spoil(world, "ids.arrow")
    run = rs.open(world.root).run("r1")
    assert len(step_statistics(run)["reward/generated/mean"]["step"]) == 30
    assert run.damage == []
    steps(world.writer(2), 30, 31)
    assert run.refresh() and len(step_statistics(run)["reward/generated/mean"]["step"]) == 31
    assert run.damage == []


def test_a_late_row_of_a_sealed_sample_recomputes_its_step(world: Any) -> None:
    three_sets(world)
    run, before = rs.open(world.root).run("r1"), reward(world, 12)
    step_statistics(run)
    late = world.writer(2)
    late.rows("samples", [{"id": "12-3", "time_ns": 10**9, "reward": 100.0}])
    expected = before + (100.0 - 3 * 12 % 5) / 8
    assert run.refresh()
    found = step_statistics(run)["reward/generated/mean"]
    assert found["value"][found["step"].tolist().index(12)] == pytest.approx(expected)
    late.finish()
    logs.seal(str(world.run))
    assert reward(world, 12) == pytest.approx(expected)
    compact.compact(str(world.run), everything=True)
    assert reward(world, 12) == pytest.approx(expected)


def test_two_processes_that_speak_of_the_same_samples_are_put_together(world: Any) -> None:
    """One generates, the other scores: the ids of both sets are the same, file for file."""
    ids = [{"id": f"s{i}", "step": i // 10, "time_ns": i} for i in range(100)]
    one, other = world.writer(1), world.writer(2)
    one.rows("samples", ids)
    other.rows("samples", [row | {"reward": float(i), "trained": True} for i, row in enumerate(ids)])
    for w in (one, other):
        w.finish()
    logs.seal(str(world.run))
    first, second = rs.open(world.root).run("r1").folder.sets
    assert repeated_ids.name_of(first.facts) == repeated_ids.name_of(second.facts)
    run = rs.open(world.root).run("r1")
    assert len(run.folder.repeated()) == 100
    assert step_statistics(run)["reward/generated/mean"]["value"].tolist() == [10 * step + 4.5 for step in range(10)]
    assert step_statistics(run)["reward/generated/mean"]["weight"].tolist() == [10.0] * 10


@pytest.mark.parametrize("most", [0, 3, 1000])
def test_the_answer_does_not_depend_on_how_many_ids_a_manifest_lists(
    world: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Random rows of samples from several processes and two attempts, sealed one log at a time.

    The answer is the same live, sealed, as an older version left the sets, and merged.
    """
    monkeypatch.setattr(repeated_ids, "MOST_IDS", most)
    rng = np.random.default_rng(most)
    writers = [world.writer(number + 1, attempt=1 + number // 2) for number in range(4)]
    world.run.joinpath("run.json").write_text(
        json.dumps({"id": "r1", "attempts": [{"attempt": 1}, {"attempt": 2, "resumed_from": 5}]})
    )
    for log in range(4):
        for w in writers:
            w.rows("samples", [_row(rng, log, int(sample)) for sample in rng.choice(40, 6, replace=False)])
            w.rotate()
    live = statistics(world)
    logs.seal(str(world.run))
    told = statistics(world)
    assert _twice(world) == _ids_in_several_rows(world)
    older(world)
    compared = statistics(world)
    assert _twice(world) == _ids_in_several_rows(world)
    compact.compact(str(world.run), everything=True)
    for found in (told, compared, statistics(world)):
        close(live, found)


def _row(rng: np.random.Generator, log: int, sample: int) -> dict[str, Any]:
    said = {
        "reward": float(rng.integers(5)),
        "trained": bool(rng.integers(2)),
        "group": f"g{sample // 4}",
        "completion_tokens": int(rng.integers(9)),
    }
    return {
        "id": f"s{sample}",
        "step": sample // 4,
        "time_ns": log * 1000 + int(rng.integers(1000)),
        **{k: v for k, v in said.items() if rng.random() < 0.6},
    }


def _twice(world: Any) -> set[int]:
    return set(rs.open(world.root).run("r1").folder.repeated().tolist())


def _ids_in_several_rows(world: Any) -> set[int]:
    """As a second reader finds them."""
    counts = Counter(row["id"] for row in Reader(world.run).tables["samples"])
    return {_hash(id) for id, count in counts.items() if count > 1}


def _hash(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")


def test_what_the_manifest_says_is_what_the_rows_say(world: Any) -> None:
    three_sets(world)
    w = world.writer(2)
    w.rows("samples", [{"id": id, "trained": False} for id in ("3-1", "15-2", "25-0", "new")])
    w.finish()
    logs.seal(str(world.run))
    ids = {path: {row["id"] for row in _rows_of(world, path)} for path in world.run.glob("*.sealed")}
    sides = {path: second_manifest(path) or {} for path in ids}
    names = {
        f"{side['sidecars']['ids.arrow']['crc']:08x}.{side['sidecars']['ids.arrow']['size']}": path
        for path, side in sides.items()
    }
    told = 0
    for path, side in sides.items():
        assert side["shared"].pop("itself") == []
        assert np.frombuffer((path / "ids.prefix").read_bytes(), "<u4").tolist() == sorted(
            _hash(id) >> 32 for id in ids[path]
        )
        for name, both in side["shared"].items():
            assert both == sorted(f"{_hash(id):016x}" for id in ids[path] & ids[names[name]])
            told += 1
    assert told == 6  # every pair, by the set that came later


def _rows_of(world: Any, path: Path) -> list[dict[str, Any]]:
    reader = Reader(world.root / "nowhere")
    reader._set(path, second_manifest(path) or {})
    return reader.tables["samples"]


@pytest.mark.parametrize("file", ["ids.prefix", "ids.arrow"])
def test_ids_that_do_not_hold_are_reported_and_read_from_the_rows(world: Any, file: str) -> None:
    three_sets(world)
    spoil(world, file)
    w = world.writer(2)
    w.rows("samples", [{"id": "12-3", "time_ns": 10**9, "reward": 100.0}])
    run, before = rs.open(world.root).run("r1"), sum(i * 12 % 5 for i in range(8)) / 8
    found = step_statistics(run)["reward/generated/mean"]
    assert found["value"][12] == pytest.approx(before + (100.0 - 1.0) / 8)
    assert {Path(damage.path).name for damage in run.damage} == {file}


def test_a_set_whose_ids_cannot_be_read_keeps_no_other_log_from_being_sealed(world: Any) -> None:
    three_sets(world)
    for file in ("ids.arrow", "samples.parquet", "samples.parquet.footer"):
        for path in world.run.glob(f"*.sealed/{file}"):
            path.write_bytes(b"\0" * path.stat().st_size)
    w = world.writer(2)
    steps(w, 30, 31)
    w.finish()
    assert logs.seal(str(world.run)) == 1
    assert [
        list(piece.facts["shared"])
        for piece in rs.open(world.root).run("r1").folder.sets
        if "0000000000000002.0000" in piece.sources
    ] == [["itself"]]
