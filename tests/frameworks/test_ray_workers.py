"""What Ray's workers did is in the run, as each of them measured it itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import rollscope
from rollscope.store import store as rs

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venvs" / "verl" / "bin" / "python"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


def run(program: str, out: Path, *words: str, **variables: str) -> str:
    """Run a program where Ray is; what it printed."""
    source = str(Path(rollscope.__file__).parents[1])
    command = [str(PYTHON), str(HERE / program), str(out), *words]
    env = {**os.environ, "PYTHONPATH": source, **variables}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    return done.stdout


def spans(out: Path) -> list[dict[str, Any]]:
    found = rs.open(out / "runs").run().table("spans", as_arrow=True).to_pylist()
    return [{**row, "data": json.loads(row["data"] or "{}")} for row in found if row["lane"].startswith("ray:")]


def measured(out: Path) -> list[dict[str, Any]]:
    """What the workers wrote down about their own calls."""
    return [json.loads(line) for file in sorted(out.glob("measured-*.jsonl")) for line in file.read_text().splitlines()]


def has_each_once(out: Path, cls: str) -> bool:
    """Is each measured call in exactly one span, of its worker, its step and its time?"""
    rows = [row for row in spans(out) if row["name"] != "__init__"]
    for call in measured(out):
        (span,) = [
            row
            for row in rows
            if (row["name"], row["data"]["pid"]) == (call["name"], call["pid"])
            and row["start_ns"] <= call["start"] + 1_000
            and row["end_ns"] >= call["end"] - 1_000
        ]
        if (span["lane"], span["step"]) != (f"ray:{cls}/{call['lane']}", call["step"]):
            return False
    return bool(measured(out))


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ray")
    run("ray_workers_run.py", out)
    return out


def test_each_call_is_a_span_of_its_worker_at_its_step(loop: Path) -> None:
    assert has_each_once(loop, "Engine")
    counts = Counter((row["name"], row["lane"]) for row in spans(loop) if row["name"] not in ("grade", "__init__"))
    assert counts == {("generate", "ray:Engine/0"): 4, ("generate", "ray:Engine/1"): 4, ("fail", "ray:Engine/1"): 1}


def test_tasks_of_no_actor_are_on_the_lane_of_their_process(loop: Path) -> None:
    graded = [row for row in spans(loop) if row["name"] == "grade"]
    assert [row["step"] for row in sorted(graded, key=lambda row: row["start_ns"])] == [0, 1, 2, 3]
    assert {row["lane"].split("/")[0] for row in graded} == {"ray:tasks"}


def test_a_span_says_who_it_was_when_it_was_handed_in_and_how_it_failed(loop: Path) -> None:
    (failed,) = [row for row in spans(loop) if row["name"] == "fail"]
    assert failed["data"]["actor"] == "engine_1" and failed["data"]["error"] == "ValueError: no tokens for rank 1"
    assert failed["step"] == 2 and failed["data"]["machine"]  # it ran after step 1 was logged
    assert 0 < failed["queued_ns"] <= failed["start_ns"] < failed["end_ns"]


def test_a_call_is_shown_while_it_is_under_way(tmp_path: Path) -> None:
    shown = json.loads(run("ray_workers_run.py", tmp_path, "held").splitlines()[0])["open"]
    (held,) = [row for row in spans(tmp_path) if row["name"] == "hold"]
    assert (shown["lane"], shown["step"], shown["start_ns"]) == ("ray:Engine/1", 2, held["start_ns"])
    assert (held["lane"], held["step"]) == ("ray:Engine/1", 2) and has_each_once(tmp_path, "Engine")


@pytest.mark.parametrize("mode", ["killed", "gone"])
def test_the_training_ends_as_ever_without_our_process_or_its_cluster(tmp_path: Path, mode: str) -> None:
    said = json.loads(run("ray_workers_run.py", tmp_path, mode).splitlines()[-1])
    assert said["losses"] == {}
    reader = rs.open(tmp_path / "runs").run()
    assert reader.record()["state"] == "finished" and reader.series("loss")["step"].tolist() == [0, 1, 2, 3]
    if mode == "gone":  # the last look is before Ray ends
        assert has_each_once(tmp_path, "Engine")


def test_workers_of_verl_are_lanes_beside_the_stages_of_its_trainer(tmp_path: Path) -> None:
    run("verl_workers_run.py", tmp_path, VERL_USE_EXTERNAL_MODULES="rollscope.sources.verl.plugin")
    assert has_each_once(tmp_path, "Actor")
    counts = Counter(row["name"] for row in spans(tmp_path))
    assert counts["update_actor"] == counts["compute_log_prob"] == 6 and "run" not in counts


def test_rollscope_run_records_the_workers_of_any_program(tmp_path: Path) -> None:
    record = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), "--"]
    command = [*record, str(PYTHON), str(HERE / "ray_run.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert {"ray:Worker/0", "ray:Worker/1"} <= {row["lane"] for row in spans(tmp_path)}
