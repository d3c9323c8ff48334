"""The logging code of RLinf, Trinity-RFT and OpenRLHF: Rollscope stores what their files hold."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.recorded import LIVE, held, recorded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "verl" / "bin" / "python"  # has torch, ray and everything else that these import
OPENRLHF = {  # our column -> what its experience calls it
    "rollout_logp": "rollout_log_probs",
    "old_logp": "action_log_probs",
    "ref_logp": "base_action_log_probs",
    "token_advantages": "advantages",
}
FAULTS = ("setup", "before", "after", "run", "disk", "fields")  # of faults.py; the last is of the script
KINDS = ("rlinf", "trinity", "openrlhf")
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("loggers")
    for kind in KINDS:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / ".venvs" / kind)]),
            "VERL_USE_EXTERNAL_PLUGINS": "none",
        }
        command = [PYTHON, HERE / "loggers_run.py", kind, root / kind]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, f"{kind}: {done.stderr[-3000:]}"
        assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    return {kind: root / kind for kind in KINDS}


def theirs(folder: Path) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def stored(run: Any, name: str, **where: Any) -> dict[int, float]:
    series = run.series(name, **where)
    points = zip(series["step"].tolist(), series["value"].tolist(), strict=True)
    return {step: float(np.float32(value)) for step, value in points}


@pytest.mark.filterwarnings("ignore")
def test_openrlhf_and_its_shown_samples(outputs: dict[str, Path]) -> None:
    out = outputs["openrlhf"]
    run, expected = rs.open(out / "runs").run(), theirs(out / "tb" / "n")
    assert set(run.metrics()["name"]) == set(expected)
    assert all(stored(run, name) == values for name, values in expected.items())
    assert run.record()["framework"] == "openrlhf" and run.config["lr"] == 0.1 and run.record()["state"] == "finished"
    assert list(run.samples(columns=["completion"])["completion"]) == ["text"] * 4


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of OpenRLHF's PPO trainer with drawn rollouts."""
    out = tmp_path_factory.mktemp("openrlhf")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / ".venvs" / "openrlhf")])}
    said = ran("openrlhf_run.py", out, env)
    assert "rollscope:" not in said.partition(" ended at step")[0], said[-3000:]
    return out


def ran(script: str, out: Path, env: dict[str, str], faults: tuple[str, ...] = FAULTS) -> str:
    """Run without a fault and with each; return what was said."""
    command = [PYTHON, HERE / script, out, *faults]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1700)
    assert done.returncode == 0, done.stderr[-3000:]
    if faults:
        assert all(f"{mode} ended at step" in done.stderr for mode in ("", *faults)), done.stderr[-3000:]
        assert "a bug of ours" in done.stderr and "No space left on device" in done.stderr, done.stderr[-3000:]
    return done.stderr


def undisturbed(out: Path, folder: str) -> None:
    """A framework logged the same numbers while our code failed, but for times."""
    plain = theirs(out / folder)
    names = {name for name in plain if "timing" not in name}
    assert len(names) > 1
    for mode in FAULTS:
        logged = theirs(out / mode / folder)
        assert logged.keys() == plain.keys() and all(logged[name] == plain[name] for name in names), mode


@pytest.mark.filterwarnings("ignore")
def test_no_fault_of_ours_reaches_the_loop_of_openrlhf(trained: Path) -> None:
    undisturbed(trained, "tb/ppo")
    lacking = rs.open(trained / "fields" / "runs").run()
    assert len(lacking.metrics()["name"]) and not len(lacking.samples(where="split = 'train'")["id"])


@pytest.mark.filterwarnings("ignore")
def test_no_fault_of_ours_reaches_trinity(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / ".venvs" / "trinity")])}
    said = ran("trinity_faults_run.py", tmp_path, {**env, "VERL_USE_EXTERNAL_PLUGINS": "none"})
    assert "rollscope:" not in said.partition(" ended at step")[0], said[-3000:]
    undisturbed(tmp_path, "tensorboard/trainer")
    assert len(rs.open(tmp_path / "runs").run().samples(where="split = 'train'")["id"]) == 12


@pytest.mark.filterwarnings("ignore")
def test_rollouts_of_openrlhf_recompute_what_it_logged(trained: Path) -> None:
    run, logged = rs.open(trained / "runs").run(), theirs(trained / "tb" / "ppo")
    assert all(stored(run, name) == values for name, values in logged.items()) and recorded(run) == held(
        "openrlhf", LIVE
    )
    for split, name, length in (
        ("train", "train/rollout/reward_mean", "train/rollout/response_length_mean"),
        ("eval", "eval/eval_sums_pass1", "eval/eval_response_length_mean"),
    ):
        for step in (1, 2):
            rows = run.samples(where=f"split = '{split}' and step = {step}")
            one = slice(None) if split == "train" else slice(1)  # the first prompt is the only one of its set
            assert np.mean(rows["reward"][one]) == pytest.approx(logged[name][step])
            assert np.mean(rows["response_tokens"]) == pytest.approx(logged[length][step])


def test_tokens_and_groups_of_openrlhf_are_those_of_the_update(trained: Path) -> None:
    run = rs.open(trained / "runs").run()
    for step in (1, 2):
        rows = run.samples(where=f"split = 'train' and step = {step}")
        order = np.argsort(rows["id"])
        kept = json.loads((trained / "held" / f"{step}.json").read_text())
        assert len(kept) == len(order) == 6
        for number, (i, one) in enumerate(zip(order, kept, strict=True)):
            part = slice(2, one["length"] - 1)  # of the values for every token but the first; the prompt has three
            assert list(rows["token_ids"][i]) == one["sequences"][3 : one["length"]]
            assert list(rows["action_mask"][i]) == [int(wrote) for wrote in one["action_mask"][part]]
            for ours, theirs_name in OPENRLHF.items():
                np.testing.assert_allclose(rows[ours][i], one[theirs_name][part], rtol=1e-6)
            assert rows["reward"][i] == pytest.approx(one["reward"]) and rows["answer"][i] == str(number // 2)
            assert rows["group"][i] == f"train/{step}/{number // 2}" and rows["repeat"][i] == number % 2
            assert rows["policy_version_min"][i] == rows["policy_version_max"][i] == step - 1 and rows["trained"][i]
            assert rows["stop_reason"][i] == ("length" if len(rows["token_ids"][i]) == 6 else "stop")


@pytest.mark.filterwarnings("ignore")
def test_rlinf_and_its_single_workers(outputs: dict[str, Path]) -> None:
    out = outputs["rlinf"]
    run, expected = rs.open(out / "runs").run(), theirs(out / "logs" / "tensorboard" / "all")
    for name, values in expected.items():
        assert stored(run, name) == values, name
    for rank in range(2):
        (values,) = theirs(out / "workers" / "ActorGroup" / f"rank_{rank}" / "tensorboard").values()
        assert stored(run, f"worker/ActorGroup/rank_{rank}/train/actor/policy_loss") == values
    assert run.record()["framework"].startswith("rlinf") and run.config["runner"]["per_worker_log"] is True


@pytest.mark.filterwarnings("ignore")
def test_trinity_explorer_and_trainer_are_one_run(outputs: dict[str, Path]) -> None:
    out = outputs["trinity"]
    assert len(rs.open(out / "runs").runs()) == 1
    run = rs.open(out / "runs").run()
    for role in ("explorer", "trainer"):
        for name, values in theirs(out / "tensorboard" / role).items():
            assert stored(run, name) == values, name
    assert run.record()["framework"].startswith("trinity@0.6")
    assert run.record()["name"] in ("told", "n"), "the monitor and the operator name it; one of them is first"
    assert list(run.samples(where="split is null", columns=["completion"])["completion"]) == ["a"]
    spans = run.spans()
    seconds = {*zip(spans["name"], (spans["end_ns"] - spans["start_ns"]) / 1e9, strict=True)}
    assert seconds == {("step", 0.75), ("train_step", 0.5), ("sync_weight", 0.25)} and {*spans["step"]} == {0, 1, 2}
    assert recorded(run) == held("trinity", LIVE)


def test_experiences_of_trinity_are_samples(outputs: dict[str, Path]) -> None:
    run = rs.open(outputs["trinity"] / "runs").run()
    rows = run.samples(where="split = 'train'")
    assert len(rows["id"]) == 4 and {*rows["step"].tolist()} == {10}
    for i, group in enumerate(rows["group"]):
        task, repeat, length = int(group.split("/")[1]), int(rows["repeat"][i]), len(rows["token_ids"][i])
        assert length == 3 + task + repeat and list(rows["token_ids"][i]) == list(range(2, 2 + length))
        np.testing.assert_allclose(rows["rollout_logp"][i], -1 / (1 + repeat))
        assert (rows["completion_tokens"][i], rows["reward"][i]) == (length - 1, repeat / 2)
        assert (rows["policy_version_min"][i], rows["policy_version_max"][i]) == (7, 7 + repeat)
        assert rows["stop_reason"][i] == ("length" if repeat else None) and rows["turns"][i] == 2
        assert rows["prompt"][i] == f"task {task}" and rows["sample_metrics"][i] == {"tries": float(repeat)}
