"""ART's `model.log`, recorded while it writes its files: what is stored is what they hold.

Needs `.venvs/verl` and `.venvs/art`, which `run_all.py` creates: `make test-frameworks-all`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.recorded import LIVE, held, recorded
from tests.sources.conftest import Imported

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VENVS = ROOT / ".venvs"
FAULTS = ("setup", "before", "after", "run", "disk")  # of faults.py
AXES = {"step", "training_step", "recorded_at"}

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS_ALL" not in os.environ, reason="run by: make test-frameworks-all"),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("art")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(VENVS / "art")])}
    command = [VENVS / "verl" / "bin" / "python", HERE / "art_run.py", folder, *FAULTS]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("a bug of ours") >= 3, done.stderr[-3000:]
    return folder


def history(out: Path) -> list[dict[str, Any]]:
    lines = (out / "art" / "tests" / "models" / "adder" / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def samples(run: Any) -> list[dict[str, Any]]:
    rows = run.samples()
    return [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]


def test_the_numbers_are_those_of_its_history_key_by_key(out: Path) -> None:
    run, expected = rs.open(out / "runs").run(), {}
    for row in history(out):
        for name in row.keys() - AXES:
            expected.setdefault(name, {})[row["step"]] = row[name]
    assert set(run.metrics()["name"]) == set(expected) and len(expected) > 15
    for name, values in expected.items():
        series = run.series(name)
        assert dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True)) == values, name


def test_the_samples_are_those_of_its_files_and_more(out: Path, tmp_path: Path) -> None:
    imported = Imported(tmp_path / "runs")
    assert not imported.take(out / "art").skipped
    (id,) = imported.ids()
    files = samples(imported.run(id))
    live = [one for one in samples(rs.open(out / "runs").run()) if one["error"] is None]
    order = [sorted(ones, key=lambda one: (one["step"], one["group"], one["prompt"])) for ones in (files, live)]
    assert len(live) == len(files) == 17
    for theirs, ours in zip(*order, strict=True):
        for name in ("step", "split", "group", "prompt", "completion", "reward", "sample_metrics", "turns"):
            assert ours[name] == theirs[name], name


def test_samples_recompute_its_rewards_and_have_tokens_versions_and_tools(out: Path) -> None:
    run = rs.open(out / "runs").run()
    rewards = {row["step"]: row["train/reward"] for row in history(out) if "train/reward" in row}
    for step, reward in rewards.items():
        ones = [one for one in samples(run) if one["step"] == step and one["split"] == "train"]
        scored = [one for one in ones if one["error"] is None]
        assert sum(one["reward"] for one in scored) / len(scored) == reward
        assert [one["error"] for one in ones if one["error"]] == ["<class 'RuntimeError'>: no answer"]
        assert {(one["policy_version_min"], one["policy_version_max"]) for one in scored} == {(step, step + 1)}
        for one in scored:
            assert one["completion_tokens"] == len(one["token_ids"]) == len(one["rollout_logp"])
            assert {*one["rollout_logp"]} == {-0.25} and one["token_ids"][0] == 10
    turns = run.sql(
        "select role, tool, arguments, result, tokens from turns where sample = 'train/0000/0/1' order by turn"
    )
    assert [*turns["role"]] == ["assistant", "tool", "assistant"]
    assert (turns["tool"][1], turns["arguments"][1], turns["result"][1]) == ("sum", '{"a": 2}', "4")
    assert [turns["tokens"][0], turns["tokens"][2]] == [6, 8]


def test_everything_of_the_table_is_recorded(out: Path) -> None:
    assert recorded(rs.open(out / "runs").run()) == held("art", LIVE)
    (about,) = rs.open(out / "runs").runs()
    assert (about.framework, about.name, about.project, about.state) == ("art@0.5.18", "adder", "tests", "finished")


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_ours_keeps_art_from_its_files(fault: str, out: Path) -> None:
    timeless = [
        {name: row[name] for name in row.keys() - {"recorded_at", "time/wall_clock_sec"}} for row in history(out)
    ]
    found = [
        {name: row[name] for name in row.keys() - {"recorded_at", "time/wall_clock_sec"}}
        for row in history(out / fault)
    ]
    assert found == timeless
    files = {path.name for path in (out / "art").rglob("*.parquet")}
    assert {path.name for path in (out / fault / "art").rglob("*.parquet")} == files
