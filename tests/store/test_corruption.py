"""A flipped bit anywhere in a run's files is found, reported with file and offset, and costs at
most its block or row group.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.partial import Mean
from rollscope.store.seal import compact, logs
from rollscope.store.sealed import parquet

FLIPS = 60


def fill(world: Any) -> None:
    w = world.writer()
    rng = np.random.default_rng(0)
    for step in range(60):
        w.metrics(
            step, {f"m{i}": float(v) for i, v in enumerate(rng.random(20))} | {"share": Mean(1.0, float(step + 1))}
        )
    w.rows(
        "samples",
        [
            {"id": f"s{i}", "step": i // 10, "reward": float(i), "completion": f"text {i} " + "word " * 50}
            for i in range(300)
        ],
    )
    w.rotate()


def answers(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Everything that can be read, value by value, and the damage that is reported."""
    run = rs.open(path).run("r1")
    found: dict[str, Any] = {}
    for name in run.folder.names():
        series = run.series(name)
        found |= {
            (name, step): value for step, value in zip(series["step"].tolist(), series["value"].tolist(), strict=True)
        }
    samples = run.samples()
    for i, id in enumerate(samples["id"]):
        found["reward", id] = samples["reward"][i]
        found["text", id] = samples["completion"][i]
    sql = run.sql("select name, step, value from metrics")
    for name, step, value in zip(sql["name"], sql["step"].tolist(), sql["value"].tolist(), strict=True):
        found["sql", name, step] = value
    run.buckets(["m0", "m1"], 0, 60, 10)
    run.metrics()
    run.rollups()
    return found, run.damage


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.store.conftest import World

    path = tmp_path_factory.mktemp("sealed")
    world = World(path)
    fill(world)
    patch = pytest.MonkeyPatch()
    patch.setattr(parquet, "ROWS", {"metrics": 200, "samples": 50})  # several row groups to lose one of
    patch.setattr(parquet, "TEXT_ROWS", 20)
    logs.seal(str(world.run))
    patch.undo()
    return path


def test_flips_in_sealed_files_are_found_and_cost_at_most_a_row_group(sealed: Path, tmp_path: Path) -> None:
    whole, damage = answers(sealed)
    assert damage == []
    rng = np.random.default_rng(1)
    files = sorted(p.relative_to(sealed) for p in sealed.rglob("*.sealed/*"))
    for trial in range(FLIPS):
        copy = tmp_path / f"t{trial}"
        shutil.copytree(sealed, copy)
        file = copy / files[trial % len(files)]
        raw = bytearray(file.read_bytes())
        at = int(rng.integers(len(raw)))
        raw[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(raw)
        found, damage = answers(copy)
        where = f"bit flipped at {at} of {file.name}"
        wrong = {key for key, value in found.items() if value is not None and value == value and value != whole[key]}
        assert not wrong, f"{where}: silently wrong {list(wrong)[:3]}"
        verified = rs.open(copy).run("r1").verify()
        assert [d for d in verified if d.path == str(file) and d.offset <= at < d.offset + d.length], (
            f"{where} is not found: {verified}"
        )
        if file.name in (
            "metrics.parquet",
            "samples.parquet",
            "names.arrow",
        ):  # what was read says so without being asked
            assert damage, where
        assert len(whole) - len(found) <= 2 * 200 + 2 * 50, f"{where}: {len(whole) - len(found)} values lost"
        shutil.rmtree(copy)


def test_flips_in_a_log_cost_at_most_their_block(world: Any, tmp_path: Path) -> None:
    w = world.writer()
    for step in range(40):
        w.metrics(step, {"a": float(step)})
    raw = w.path.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(40):
        at = int(rng.integers(len(raw)))
        broken = bytearray(raw)
        broken[at] ^= 1 << int(rng.integers(8))
        w.path.write_bytes(broken)
        run = rs.open(world.root).run()
        found = dict(zip(*(run.series("a")[name].tolist() for name in ("step", "value")), strict=True))
        assert all(value == step for step, value in found.items())
        assert len(found) >= 39
        assert any(d.offset <= at < d.offset + d.length for d in run.damage) or len(found) == 40, at


def test_a_lost_footer_is_read_from_its_copy(sealed: Path, tmp_path: Path) -> None:
    shutil.copytree(sealed, tmp_path / "c")
    whole, _ = answers(sealed)
    file = next(iter((tmp_path / "c").rglob("metrics.parquet")))
    raw = file.read_bytes()
    file.write_bytes(raw[:-200] + b"\0" * 200)
    found, damage = answers(tmp_path / "c")
    assert found == whole
    assert [d.path for d in damage] == [str(file)]


def test_a_damaged_log_is_sealed_with_its_damage_remembered(world: Any) -> None:
    w = world.writer()
    for step in range(10):
        w.metrics(step, {"a": float(step)})
    w.rotate()
    log = next(iter(world.run.glob("*.0000.log")))
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    assert len(run.folder.sets) == 1
    assert log.exists()
    assert [d.path for d in run.damage] == [str(log)]
    assert len(run.series("a")["step"]) == 9


def test_a_set_without_a_manifest_is_reported_and_the_rest_is_read(sealed: Path, tmp_path: Path) -> None:
    shutil.copytree(sealed, tmp_path / "c")
    for file in (tmp_path / "c").rglob("manifest*.json"):
        file.write_bytes(b"{}")
    run = rs.open(tmp_path / "c").run("r1")
    assert run.folder.names() == []
    assert ["neither copy of the manifest" in str(d) for d in run.damage] == [True]


def test_what_is_only_named_like_a_file_of_the_run_is_none_of_it(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    w.finish()
    named = [f"{number:016x}.0001.log" for number in range(0xE0, 0xE6)]
    (world.run / named[0]).mkdir()
    (world.run / named[1]).symlink_to("nowhere")
    (world.run / named[2]).symlink_to(named[2])
    os.mkfifo(world.run / named[3])
    (world.run / named[4]).write_bytes(b"")
    (world.run / named[5]).write_bytes(b"\xf1RSL" * 5000)
    (world.run / "merged.00ff.sealed").write_bytes(b"x")
    (world.run / "00000000000000e7.0001.sealed").symlink_to("nowhere")
    (world.run / "00000000000000e8.0001.sealed").mkdir()
    for work in (
        lambda: None,
        lambda: logs.seal(str(world.run)),
        lambda: compact.compact(str(world.run), everything=True),
    ):
        work()
        run = rs.open(world.root).run()
        assert run.series("a")["value"].tolist() == [1.0]
        assert run.state in ("running", "killed", "finished")
        assert {os.path.basename(damage.path) for damage in run.damage} == {named[5], "00000000000000e8.0001.sealed"}


@pytest.mark.parametrize(
    "attempts",
    [
        '{"x": 1}',
        "[null, 3]",
        '[{"attempt": "two", "resumed_from": 0}]',
        '[{"attempt": 2, "resumed_from": "zero"}]',
        '"no"',
    ],
)
def test_a_run_of_which_somebody_broke_the_facts_is_still_read(world: Any, attempts: str) -> None:
    world.writer().metrics(0, {"a": 1.0})
    (world.run / "run.json").write_text(f'{{"id": "r1", "attempts": {attempts}}}')
    run = rs.open(world.root).run()
    assert run.series("a")["value"].tolist() == [1.0]
    assert run.state in ("running", "killed")
