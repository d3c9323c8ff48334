"""slime and miles live: each sample of a rollout is recorded as the reader of its dump reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.sources.slime import live
from rollscope.store.store import open as stored  # without derived series
from tests.recorded import LOGGED, held, recorded
from tests.sources import slime_like
from tests.sources.test_capture import record, series

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("slime", "miles")
OF_WRITING = {"run", "writer", "attempt", "time_ns", "escaped"}
MORE = {"tool_failures", "tags"}  # what a dump does not tell


def program(tmp_path: Path, framework: str, *options: str, dump: str = "") -> Any:
    """A training under `rollscope run`; its run."""
    words = [framework, dump, str(tmp_path / "returned")]
    done = record(
        tmp_path,
        *(sys.executable, "-m", "tests.sources.slime_like", *words),
        options=options,
        WANDB_MODE="disabled",
        PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    )
    assert done.returncode == 0 and "rollscope: " not in done.stderr.replace("rollscope: recorded as", ""), done.stderr
    assert [*map(json.loads, (tmp_path / "returned").read_text().splitlines())] == [False] * 3
    (about,) = rs.open(tmp_path / "runs").runs()
    assert (about.state, about.framework) == ("finished", framework)
    return stored(tmp_path / "runs").run(about.id)


def samples(run: Any) -> dict[str, dict[str, Any]]:
    found = run.samples()
    rows = [{name: _plain(values[i]) for name, values in found.items()} for i in range(len(found["id"]))]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: {name: value for name, value in row.items() if name not in OF_WRITING} for row in rows}


def turns(run: Any) -> list[tuple[Any, ...]]:
    names = ("sample", "turn", "step", "role", "tool", "content", "arguments", "result")
    found = run.sql(f"SELECT {', '.join(names)} FROM turns ORDER BY sample, turn")
    return list(zip(*(found[name].tolist() for name in names), strict=True))


def _without(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and value != value else value


def dumped(tmp_path: Path, framework: str) -> Any:
    """The run of the dump of such a training."""
    manager = slime_like.Manager(framework, str(tmp_path / "dump"), str(tmp_path / "unused"))
    manager.args.custom_rollout_log_function_path = manager.args.custom_eval_rollout_log_function_path = None
    for step in (3, 4):
        manager.generate(step)
    manager.eval(4)
    assert main(["import", str(tmp_path / "dump"), "--dir", str(tmp_path / "imported")]) == 0
    return stored(tmp_path / "imported").run()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_samples_are_those_of_the_dump_and_in_the_run_of_the_numbers(framework: str, tmp_path: Path) -> None:
    run, dump = program(tmp_path, framework), dumped(tmp_path, framework)
    ours, theirs = samples(run), samples(dump)
    assert len(ours) == 12 and ours.keys() == theirs.keys()
    assert all(ours[id].items() >= _without(row, MORE).items() for id, row in theirs.items())
    assert turns(run) == turns(dump) and len(turns(run)) == 8
    assert series(run, "rollout/raw_reward") == {3: 0.75, 4: 0.75} and series(run, "eval/math") == {4: 0.25}
    assert recorded(run) == held(framework, LOGGED)
    tasks = sorted({row["task"] for row in ours.values() if row["split"] == "eval"})
    evaluated = [row for row in ours.values() if row["split"] == "eval"]
    assert sorted((row["task"], row["repeat"]) for row in evaluated) == [(task, i) for task in tasks for i in (0, 1)]
    assert all(row["tags"] == row["completion"].split()[:1] for row in evaluated)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_dump_of_what_was_recorded_doubles_nothing(framework: str, tmp_path: Path) -> None:
    """It is followed while the program runs, and imported once more afterwards."""
    dump = str(tmp_path / "dump")
    run = program(tmp_path, framework, "--dumps", dump, dump=dump)
    assert main(["import", dump, "--into", run.id, "--dir", str(tmp_path / "runs")]) == 0
    alone = dumped(tmp_path / "alone", framework)
    ours, theirs = samples(run), samples(alone)
    assert len(ours) == 12 and ours.keys() == theirs.keys()
    assert all(ours[id].items() >= _without(row, MORE).items() for id, row in theirs.items())
    assert turns(run) == turns(alone)


class Live:
    """A recorder as in the process that logs, and the run that it joins."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root, self.recorder = root, live.Recorder()
        self.args = Namespace(save_debug_rollout_data=None)
        with rs.init(id="run", dir=root, host=False):
            pass
        for name, value in (("RUN_ID", "run"), ("DIR", str(root)), ("HOME", str(ROOT / "src"))):
            patch.setenv(f"ROLLSCOPE_{name}", value)

    def samples(self) -> dict[str, dict[str, Any]]:
        self.recorder.settle()
        return samples(stored(self.root).run("run"))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Live:
    return Live(tmp_path / "runs", monkeypatch)


@pytest.mark.parametrize("name", [field.name for field in fields(slime_like.Slime)])
def test_a_missing_field_costs_nothing_else(name: str, recording: Live, capsys: Any) -> None:
    first, *rest = slime_like.rollout("slime", 3)
    delattr(first, name)
    recording.recorder.take("train", 3, recording.args, [first, *rest])
    assert len(recording.samples()) == 4 and "rollscope" not in capsys.readouterr().err


ODD: list[Any] = [None, [], {}, "x", -1, 1e308, [[[]]], {"a": {"b": []}}, True, "\ud800", 10**400, object(), b"x", ...]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_wrong_types_cost_their_samples_at_most(framework: str, recording: Live) -> None:
    held = []
    for name in [field.name for field in fields(slime_like.CLASSES[framework])]:
        for value in ODD:
            sample = slime_like.rollout(framework, 3)[0]
            setattr(sample, name, value)
            held.append(sample)
    good = slime_like.rollout(framework, 3)[2]
    good.index, good.response = 10**9, "the good one"
    recording.recorder.take("train", 3, recording.args, [*held, *ODD, good])
    found = [row for row in recording.samples().values() if row["completion"] == "the good one"]
    assert [row["token_ids"] for row in found] == [[12, 22, 32]]


ROLLOUTS = [(id, samples) for id in (3, None, "x", [], float("nan"), 2**70) for samples in (None, 7, {}, "xy", [])]


@pytest.mark.parametrize("rollout_id, given", ROLLOUTS, ids=map(str, range(len(ROLLOUTS))))
def test_no_call_raises_or_takes_the_logging_over(rollout_id: Any, given: Any, recording: Live) -> None:
    assert live.log_rollout(rollout_id, recording.args, given, None, 1.0) is False
    assert live.log_eval_rollout(rollout_id, recording.args, given, None) is False
    assert live.log_eval_rollout(rollout_id, None, {"math": {"rewards": [1.0], "samples": given}}) is False


def test_an_evaluation_without_samples_is_named_and_the_others_are_recorded(recording: Live, capsys: Any) -> None:
    sets = slime_like.evaluation("slime", 3) | {"gone": {"rewards": [1.0]}}
    recording.recorder.take("eval", 3, recording.args, sets)
    assert len(recording.samples()) == 4
    assert "the evaluation 'gone' came without its samples" in capsys.readouterr().err


PROGRAM = """
import sys
from tests.sources.slime_like import Manager
manager = Manager("miles", None, sys.argv[1])
for step in (3, 4):
    manager.generate(step)
manager.eval(4)
"""


def alone(tmp_path: Path, folder: Path) -> Any:
    """A training that nobody records but our functions."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "returned")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ROLLSCOPE")}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**clean, "PYTHONPATH": path, "ROLLSCOPE_DIR": str(folder)}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert [*map(json.loads, (tmp_path / "returned").read_text().splitlines())] == [False] * 3
    return done


def test_without_a_run_they_begin_one(tmp_path: Path) -> None:
    assert alone(tmp_path, tmp_path / "runs").stderr == ""
    (about,) = rs.open(tmp_path / "runs").runs()
    assert (about.name, about.framework, about.state) == ("sums", "miles", "finished")
    run = stored(tmp_path / "runs").run(about.id)
    assert len(samples(run)) == 12 and run.config["lr"] == 0.1 and "f00dfeed" not in str(run.config)


def test_a_folder_that_cannot_be_written_costs_the_recording_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    said = alone(tmp_path, tmp_path / "file" / "runs").stderr
    assert "rollscope: cannot write to" in said and "Traceback" not in said
