"""docs/format.md is enough to write a second reader: the one here agrees with the store."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.store import notes
from rollscope.store.schema import TABLES
from rollscope.store.seal import compact, logs
from tests.store import second_answers as answers
from tests.store.conftest import World
from tests.store.second_reader import Reader, Row

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text()
FOLDED = ("metrics", "samples", "steps", "runs")


def batch(random: np.random.Generator) -> dict[str, Any]:
    mask = np.arange(12) < random.integers(1, 12, (8, 1))
    names = ("logp", "old_logp", "rollout_logp", "ref_logp", "entropy")
    values = {name: -random.random((8, 12)) for name in names} | {
        "action_mask": mask,
        "advantages": random.standard_normal(8),
    }
    return values | {
        "reward": random.random(8),
        "group": [f"g{i // 4}" for i in range(8)],
        "task": [f"t{i // 4}" for i in range(8)],
        "env": ["math"] * 5 + ["code"] * 3,
    }


def rollout(id: str, i: int) -> dict[str, Any]:
    """A sample with everything that is hard to keep."""
    odd = {
        "stop_reason": "st\udfffop",
        "sample_metrics": {"len": 3.0, "\ud800": math.nan},
        "rewards": {"a": math.inf},
        "tokens": ["\ud800", "\0"],
        "tags": ["x"],
    }
    arrays = {"token_ids": [1, 2**40, 3][:i], "logp": np.array([-0.5, math.nan, -1.0], np.float32)[:i]}
    turns = [
        {"role": "assistant", "content": "c\ud800"},
        {"role": "tool", "tool": "py", "arguments": "{}", "result": "\\ \udc01", "ok": False, "seconds": 0.25},
    ]
    text = {
        "prompt": "p \ud83d \\u0041",
        "completion": "nul \0 \\",
        "answer": "",
        "messages": [{"role": "user", "content": "\ud83d é"}],
    }
    return {
        "id": id,
        "env": "math",
        "group": f"g{i // 2}",
        "reward": math.nan if i == 3 else float(i),
        **arrays,
        **(odd | text | {"turns": turns} if i % 2 else {}),
    }


def record(
    folder: str, shard: int = 0, shards: int = 1, resume: int | None = None, first: int = 0, last: int = 6
) -> None:
    run = rs.init(dir=folder, id="r", host=False, shard=shard, shards=shards, resume=resume, config={"x": math.nan})
    random = np.random.default_rng(10 * shard + first)
    for step in range(first, last):
        run.log(
            {
                "loss": random.random(),
                "whole": step,
                "big": 2**53 + 1 + step,
                "deep": -(2**60) - step,
                "odd": (math.nan, math.inf, -math.inf)[step % 3],
            },
            step=step,
        )
        run.log({"twice": 1.0}, step=step)
        run.log({"twice": 2.0 + step}, step=step)
        run.log({"by env": float(step)}, step=step, env="math")
        run.log({"by env": -float(step), "held out": 1.0}, step=step, split="eval")
        run.log({"frames": 1.0}, step=1000 * step, clock="env_steps")
        run.log({f"sur\ud800rogate {step % 2}": 1.0}, step=step)
        run.log_batch(batch(random), step=step)
        run.log_samples([rollout(f"{shard}-{step}-{i}", i) for i in range(4)], step=step)
        run.log_samples(
            [
                {"id": f"{shard}-{step}-1", "reward": 42.0, "trained": True, "completion": "later \udc00"},
                {"id": "shared", f"k{shard}": step},
            ],
            step=step,
        )
        run.log_samples([{"id": f"{shard}-{max(step - 2, first)}-2", "discard_reason": "late"}], step=step)
        with (
            run.span("train", step=step),
            run.span("micro", kind="wait", step=step, microbatch=1, what="\ud800", q=math.nan),
        ):
            pass
        run.note(f"note \ud800 \0 {step}", step=step, kind="thing", v=[math.inf, None, 2**60])
        run.commit(step, tokens=100 * step)
    run.declare("math", reward_min=0.0, reward_max=1.0)
    run.log_eval(
        "aime",
        [{"task": f"t{i // 2}", "repeat": i % 2, "scores": {"acc": float(i % 2)}, "failed": i == 5} for i in range(6)],
        step=last - 1,
    )
    run.finish()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two processes, a resume from step 3, and a note by somebody who read it."""
    path = tmp_path_factory.mktemp("recorded")
    env = os.environ | {"ROLLSCOPE_SEAL": "0", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    calls = (
        [f"record({str(path)!r}, {shard}, 2)" for shard in (0, 1)],
        [f"record({str(path)!r}, resume=3, first=4, last=8)"],
    )
    for together in calls:
        started = [
            subprocess.Popen(
                [sys.executable, "-c", f"from tests.store.test_format import record; {call}"], env=env, cwd=ROOT
            )
            for call in together
        ]
        assert [process.wait() for process in started] == [0] * len(started)
    notes.write(str(path / "r"), {"text": "looks odd", "step": 5, "kind": "note"})
    return path


def raw(run: Path) -> None:
    pass


def sealed(run: Path) -> None:
    assert logs.seal(str(run), force=True) == 4


def merged(run: Path) -> None:
    sealed(run)
    assert compact.compact(str(run), everything=True) == 1


def half_sealed(run: Path) -> None:
    assert logs.seal_log(str(run), str(min(run.glob("*.log"))))


def with_leftovers(run: Path) -> None:
    """Logs that are sealed, sets that are merged, and a sealer that was killed: all still there."""
    before = run.parent / "before"
    shutil.copytree(run, before)
    sealed(run)
    shutil.copytree(run, before, dirs_exist_ok=True)
    compact.compact(str(run), everything=True)
    shutil.copytree(before, run, dirs_exist_ok=True)
    shutil.copytree(min(run.glob("*.sealed")), run / ".aside-0123456789abcdef")
    shutil.rmtree(before)


@pytest.fixture(params=[raw, half_sealed, sealed, merged, with_leftovers], ids=lambda how: how.__name__)
def folder(request: pytest.FixtureRequest, recorded: Path, tmp_path: Path) -> Path:
    shutil.copytree(recorded / "r", tmp_path / "r")
    request.param(tmp_path / "r")
    return tmp_path


def rows_of(columns: dict[str, Any]) -> list[Row]:
    found = {name: values.tolist() for name, values in columns.items()}
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def said(rows: list[Row]) -> list[str]:
    """Rows as sorted text, without the differences numpy cannot show (null or NaN, 1 or 1.0)."""
    return sorted(
        repr({name: plain(row[name]) for name in sorted(row) if name != "seq" and plain(row[name]) is not None})
        for row in rows
    )


def plain(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, float) and math.isnan(value):
        return None
    return float(value) if isinstance(value, int) and abs(value) <= 2**53 else value


def same(mine: float | None, theirs: float) -> bool:
    mine = math.nan if mine is None else mine
    return mine == theirs or (mine != mine and theirs != theirs) or math.isclose(mine, theirs, rel_tol=1e-12)


def test_every_series_is_the_same(folder: Path) -> None:
    run, reader = rs.open(folder).run("r"), Reader(folder / "r")
    names = {row["name"] for row in reader.tables["metrics"]}
    assert names == set(run.folder.names()) and len(names) > 150
    for name in names:
        mine, theirs = answers.series(reader, name), rows_of(run.series(name))
        assert [row["step"] for row in mine] == [row["step"] for row in theirs], name
        for a, b in zip(mine, theirs, strict=True):
            assert a["time_ns"] == b["time_ns"] and b.get("exact") in (None, a.get("exact")), (name, a, b)
            assert all(same(a[key], b[key]) for key in ("value", "weight", "min", "max")), (name, a, b)
    for env, split in (("math", None), (None, "eval"), ("code", None)):
        assert said(answers.series(reader, "by env", env, split)) == said(
            rows_of(run.series("by env", env=env, split=split))
        )


def test_every_table_is_the_same(folder: Path) -> None:
    run, reader = rs.open(folder).run("r"), Reader(folder / "r")
    assert said(answers.samples(reader)) == said(rows_of(run.samples()))
    assert said(answers.steps(reader)) == said(rows_of(run.steps()))
    for name in TABLES.keys() - {*FOLDED}:
        assert said(answers.table(reader, name)) == said(rows_of(run.table(name))), name
    assert said(reader.tables["metrics"]) == said(rows_of(run.table("metrics")))
    assert reader.damage == [] and run.damage == []
    assert answers.state(reader) == run.state == "finished"
    assert answers.facts(reader) | {"ended_ns": 0} == run.facts | {
        "ended_ns": 0
    }  # two writers, and no order between them


def test_nan_is_not_null(folder: Path) -> None:
    rows = rs.open(folder).run("r").samples(columns=["id", "reward"], as_arrow=True).to_pylist()
    theirs = {row["id"]: repr(row["reward"]) for row in rows}
    assert theirs == {row["id"]: repr(row.get("reward")) for row in answers.samples(Reader(folder / "r"))}
    assert {"nan", "None", "42.0"} <= set(theirs.values())


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("where", [0, 40, 0.3, 0.5, 0.7, -20], ids=str)
def test_a_damaged_log_is_read_as_far(recorded: Path, tmp_path: Path, where: float) -> None:
    shutil.copytree(recorded / "r", tmp_path / "r")
    log = max((tmp_path / "r").glob("*.log"), key=lambda path: path.stat().st_size)
    flip(log, int(where * log.stat().st_size) if isinstance(where, float) else where)
    with open(log, "ab") as file:
        file.write(log.read_bytes()[:50])  # and a tail that was cut off
    both(tmp_path)


@pytest.mark.parametrize(
    "where", [lambda file: 100, lambda file: file.stat().st_size - 30], ids=["a row group", "the footer"]
)
@pytest.mark.parametrize("name", ["metrics.parquet", "samples.parquet", "samples.text.parquet"])
def test_a_damaged_set_is_read_as_far(recorded: Path, tmp_path: Path, name: str, where: Callable[[Path], int]) -> None:
    shutil.copytree(recorded / "r", tmp_path / "r")
    merged(tmp_path / "r")
    file = next((tmp_path / "r").glob(f"*.sealed/{name}"))
    flip(file, where(file))
    flip(file.parent / "manifest.json", 1000)
    both(tmp_path)


def both(folder: Path) -> None:
    """Both readers find the damage, and hand out the same rest."""
    run, reader = rs.open(folder).run("r"), Reader(folder / "r")
    assert said(answers.samples(reader)) == said(rows_of(run.samples()))
    assert said(reader.tables.get("metrics", [])) == said(rows_of(run.table("metrics")))
    found = {(damage.path, damage.offset, damage.length) for damage in run.damage if not damage.path.endswith(".json")}
    assert {(str(folder / "r" / name), offset, length) for name, offset, length in reader.damage} == found and found


def test_readings_of_another_clock_are_not_taken_for_steps(folder: Path) -> None:
    run = rs.open(folder).run("r")
    assert run.series("frames")["step"].tolist() == [
        1000 * step for step in range(8)
    ]  # also after the resume, which was said in steps
    assert run.record()["step"] == 7


def test_a_sample_is_of_the_step_its_attempt_last_said(tmp_path: Path) -> None:
    world = World(tmp_path)
    attempts = [
        {"attempt": 1, "started_ns": 0, "resumed_from": None},
        {"attempt": 2, "started_ns": 0, "resumed_from": 3},
    ]
    (world.run / "run.json").write_text(json.dumps({"id": "r1", "attempts": attempts}))
    first, second = world.writer(1), world.writer(2, attempt=2)
    first.rows(
        "samples",
        [{"id": "kept", "step": 2}, {"id": "taken back", "step": 2}, {"id": "done again", "step": 2, "reward": 1.0}],
    )
    first.rows("samples", [{"id": "kept", "step": 3}, {"id": "taken back", "step": 5}, {"id": "done again", "step": 4}])
    second.rows("samples", [{"id": "done again", "step": 4, "trained": True}])
    for how in (lambda: None, first.finish, second.finish, lambda: compact.compact(str(world.run), everything=True)):
        how()
        logs.seal(str(world.run))
        samples = rs.open(tmp_path).run("r1").samples(columns=["id", "step", "trained"], order_by="id")
        assert {name: values.tolist() for name, values in samples.items()} == {
            "id": ["done again", "kept"],
            "step": [4, 3],
            "trained": [True, None],
        }
        assert said(answers.samples(Reader(world.run))) == said(rows_of(rs.open(tmp_path).run("r1").samples()))


def test_a_large_whole_number_averages_with_a_small_one(world: World) -> None:
    world.writer(1).metrics(0, {"n": 2**60}, time_ns=1)
    world.writer(2).metrics(0, {"n": 4.0}, time_ns=2)
    found = rs.open(world.root).run("r1").series("n")
    assert (found["value"].tolist(), found["min"].tolist(), found["max"].tolist()) == ([2.0**59 + 2], [4.0], [2.0**60])
