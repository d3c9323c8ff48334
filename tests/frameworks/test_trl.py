"""TRL with a tiny random model on the CPU: Rollscope stores what the trainer logs, key by key.

Needs `.venvs/trl` (and `.venvs/trl112` for PPO), which `run.py` creates.
"""

from __future__ import annotations

import json
import math
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
PYTHON = ROOT / ".venvs" / "trl" / "bin" / "python"
PPO = ROOT / ".venvs" / "trl112"  # trl 1.12 without dependencies
WORDS = (  # the prompts of trl_run.py
    *("add 2 and 3", "add 4 and 5", "say 7", "count to 3"),
    *("what is 9", "half of 8", "ten less 1", "2 times 2"),
)
FAULTS = ("setup", "before", "after", "run", "disk", "fields")  # of faults.py
KINDS = ("grpo", "grpo_split", "grpo_packed", "rloo", "dpo", "kto", "reward", "sft", "ppo", "callback", "report_to")
LAUNCHERS = {  # start two processes; accelerate does so only with --multi_gpu, even if there is no GPU
    "torchrun": ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2"),
    "accelerate launch": (
        *("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"),
        *("--mixed_precision=no", "--dynamo_backend=no", "--main_process_ip=127.0.0.1", "--main_process_port=0"),
    ),
}

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind, run once, each in a process of its own."""
    root = tmp_path_factory.mktemp("trl")
    return {kind: ran(kind, root / kind) for kind in KINDS}


def ran(kind: str, out: Path, *launcher: str, script: str = "trl_run.py") -> Path:
    paths = [str(ROOT / "src"), *([str(PPO)] if kind == "ppo" else [])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, *launcher, HERE / script, *([kind] if kind else []), out]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{kind}: {done.stderr[-3000:]}"
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    return out


def logged(out: Path) -> dict[str, dict[int, float]]:
    """The trainer's own log by name and step. Null is no data; the last value of a step wins."""
    values: dict[str, dict[int, float]] = {}
    for entry in json.loads((out / "log_history.json").read_text()):
        for name, value in entry.items():
            if name != "step" and value is not None:
                values.setdefault(name, {})[entry["step"]] = float(value)
    return values


def opened(out: Path) -> Any:
    return rs.open(out / "runs").run()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_what_the_trainer_logged(kind: str, outputs: dict[str, Path]) -> None:
    stored_is_logged(outputs[kind])


def stored_is_logged(out: Path, steps: int = 2) -> None:
    run, expected = opened(out), logged(out)
    assert len(expected) > 8 and max(expected["epoch"]) > steps
    assert len(rs.open(out / "runs").runs()) == 1
    for name, values in expected.items():
        series = run.series(name)
        stored = dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))
        assert stored == pytest.approx(values, rel=0, abs=0, nan_ok=True), name
    assert set(run.metrics()["name"]) - set(expected) == set()


@pytest.mark.parametrize(
    ("kind", "dialect"),
    [("grpo", "trl:grpo@1.16"), ("rloo", "trl:rloo@1.16"), ("dpo", "trl:dpo@1.16"), ("ppo", "trl:ppo@1.12")],
)
def test_the_run_has_trainer_version_and_state(kind: str, dialect: str, outputs: dict[str, Path]) -> None:
    record = opened(outputs[kind]).record()
    assert record["framework"].startswith(dialect) and record["state"] == "finished" and record["algorithm"] == kind


def columns(run: Any, *names: str) -> list[dict[str, Any]]:
    rows = run.samples(columns=list(names))
    return [dict(zip(names, row, strict=True)) for row in zip(*(rows[name] for name in names), strict=True)]


def mean_entropy(samples: list[dict[str, Any]]) -> float:
    return float(np.mean(np.concatenate([np.asarray(s["entropy"], float) for s in samples])))


def lengths_of(samples: list[dict[str, Any]]) -> tuple[float, int, int]:
    lengths = [s["completion_tokens"] for s in samples]
    return float(np.mean(lengths)), min(lengths), max(lengths)


@pytest.mark.parametrize("kind", ["grpo", "rloo"])
def test_samples_recompute_the_trainers_rewards_and_lengths(kind: str, outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs[kind]), logged(outputs[kind])
    names = ("step", "split", "reward", "rewards", "completion_tokens", "stop_reason", "group", "prompt", "trained")
    samples = columns(run, *names)
    for step in sorted(expected["reward"]):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        assert len(these) == 8 and len({s["group"] for s in these}) == 2 and all(s["trained"] for s in these)
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        assert np.std([s["reward"] for s in these], ddof=1) == pytest.approx(expected["reward_std"][step], rel=1e-4)
        for function in ("digit_reward", "brevity_reward"):
            scores = [r[function] for s in these if function in (r := _json(s["rewards"]))]
            assert np.mean(scores) == pytest.approx(expected[f"rewards/{function}/mean"][step], rel=1e-5)
        theirs = [expected[f"completions/{stat}_length"][step] for stat in ("mean", "min", "max")]
        assert list(lengths_of(these)) == theirs
        assert np.mean([s["stop_reason"] == "length" for s in these]) == expected["completions/clipped_ratio"][step]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_ranks_are_one_run_whose_samples_give_the_trainers_numbers(tmp_path: Path, launcher: str) -> None:
    out = ran("grpo_ranks", tmp_path / "out", *LAUNCHERS[launcher])
    stored_is_logged(out)  # rank 1 has the same names, and adds no values
    run, expected = opened(out), logged(out)
    names = ("id", "step", "split", "reward", "group", "repeat", "advantage")
    samples = columns(run, *names, "completion_tokens", "token_ids", "entropy")
    assert len({s["id"] for s in samples}) == len(samples) and run.record()["state"] == "finished"
    for step in range(1, 5):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        assert sorted(int(s["id"].split(".")[1]) for s in these) == list(range(12))  # six of each rank
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        assert np.std([s["reward"] for s in these], ddof=1) == pytest.approx(expected["reward_std"][step], rel=1e-4)
        theirs = [expected[f"completions/{s}_length"][step] for s in ("mean", "min", "max")]
        assert list(lengths_of(these)) == pytest.approx(theirs)
        assert all(len(s["entropy"]) == len(s["token_ids"]) for s in these)
        assert mean_entropy(these) == pytest.approx(expected["entropy"][step], rel=1e-4)
        for group in {s["group"] for s in these}:  # samples of the second of three groups are on both ranks
            rewards, advantages = np.array([(s["reward"], s["advantage"]) for s in these if s["group"] == group]).T
            scaled = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
            assert len(rewards) == 4 and advantages == pytest.approx(scaled, rel=1e-3, abs=1e-4)
    for step in (2, 4):
        evaluated = [s["reward"] for s in samples if s["step"] == step and s["split"] == "eval"]
        assert len(evaluated) == 32 and np.mean(evaluated) == pytest.approx(expected["eval_reward"][step], rel=1e-5)
    spans = run.spans()
    rows = zip(spans["rank"], spans["step"], spans["name"], strict=True)
    steps = sorted((rank, step) for rank, step, name in rows if name == "step")
    assert steps == [(rank, step) for rank in (0, 1) for step in range(1, 5)]


@pytest.mark.parametrize("kind", ["dpo", "kto"])
def test_pairs_recompute_the_trainers_implicit_rewards_and_logps(kind: str, outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs[kind]), logged(outputs[kind])
    names = ("step", "split", "tags", "reward", "logp", "ref_logp", "token_ids", "completion")
    samples = columns(run, *names, "prompt", "group", "trained")
    for step in range(1, 9):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        assert len(these) == (8 if kind == "dpo" else 4) and len({s["group"] for s in these}) == 4
        assert all(s["trained"] and s["prompt"] in WORDS for s in these)
        for side, text in (("chosen", " yes"), ("rejected", " no")):
            own = [s for s in these if _json(s["tags"]) == [side]]
            assert own and all(s["completion"].startswith(text) for s in own)
            assert all(len(s["logp"]) == len(s["ref_logp"]) == len(s["token_ids"]) for s in own)
            reward, logp = np.mean([s["reward"] for s in own]), np.mean([np.sum(s["logp"]) for s in own])
            assert reward == pytest.approx(expected[f"rewards/{side}"][step], rel=1e-4, abs=1e-6)
            assert logp == pytest.approx(expected[f"logps/{side}"][step], rel=1e-5)
    assert {s["split"] for s in samples} == ({"train", "eval"} if kind == "dpo" else {"train"})


def test_pairs_of_a_reward_model_have_its_scores(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["reward"]), logged(outputs["reward"])
    samples = columns(run, "step", "tags", "reward", "completion")
    for step in range(1, 9):
        chosen, rejected = (
            [s["reward"] for s in samples if s["step"] == step and _json(s["tags"]) == [side]]
            for side in ("chosen", "rejected")
        )
        assert len(chosen) == len(rejected) == 4
        assert np.mean(chosen) - np.mean(rejected) == pytest.approx(expected["margin"][step], rel=1e-4)
        assert np.mean(np.greater(chosen, rejected)) == pytest.approx(expected["accuracy"][step])


def test_episodes_of_ppo_recompute_its_scores_and_rewards(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["ppo"]), logged(outputs["ppo"])
    samples = columns(run, "step", "reward", "score", "prompt", "token_ids", "old_logp", "ref_logp")
    for step in sorted(expected["objective/scores"]):
        these = [s for s in samples if s["step"] == step]
        assert len(these) == 4 and all(s["prompt"] in WORDS for s in these)
        assert all(len(s["token_ids"]) == len(s["old_logp"]) == len(s["ref_logp"]) for s in these)
        score, reward = (np.mean([s[name] for s in these]) for name in ("score", "reward"))
        assert score == pytest.approx(expected["objective/scores"][step], rel=1e-4, abs=1e-6)
        assert reward == pytest.approx(expected["objective/rlhf_reward"][step], rel=1e-4, abs=1e-6)


def test_evaluation_samples_have_their_own_split(outputs: dict[str, Path]) -> None:
    samples = columns(opened(outputs["grpo"]), "step", "split", "reward")
    evaluated = [s for s in samples if s["split"] == "eval"]
    assert {s["step"] for s in evaluated} == {10, 20, 25}
    expected = logged(outputs["grpo"])["eval_reward"]
    for step, value in expected.items():
        assert np.mean([s["reward"] for s in evaluated if s["step"] == step]) == pytest.approx(value, rel=1e-5)


def test_tokens_of_the_loss_are_joined_to_their_samples_after_the_shuffle(outputs: dict[str, Path]) -> None:
    """The stored tokens of the samples give the trainer's KL and its clip ratios."""
    run, expected = opened(outputs["grpo_split"]), logged(outputs["grpo_split"])
    names = ("step", "advantage", "logp", "old_logp", "ref_logp", "entropy", "token_ids", "completion_tokens")
    samples = columns(run, *names, "policy_version_min", "policy_version_max", "off_policy_steps")
    moved = 0.0
    for step in sorted(expected["kl"]):
        these = [s for s in samples if s["step"] == step]
        assert len(these) == 8 and all(len(s["logp"]) == len(s["token_ids"]) == s["completion_tokens"] for s in these)
        written = (step - 1) // 2 * 2  # one generation is for two updates
        assert {(s["policy_version_min"], s["policy_version_max"]) for s in these} == {(written, written)}
        assert {s["off_policy_steps"] for s in these} == {step - 1 - written}
        arrays = [[np.asarray(s[name], float) for s in these] for name in ("logp", "old_logp", "ref_logp")]
        logp, old, ref = map(np.concatenate, arrays)
        advantage = np.concatenate([np.full(len(s["logp"]), s["advantage"]) for s in these])
        ratio, x = np.exp(logp - old), ref - logp
        moved = max(moved, float(np.abs(ratio - 1).max()))
        kl = np.mean(ratio * (np.exp(x) - x - 1))  # use_bias_correction_kl, on by default
        low, high = np.mean((ratio < 0.98) & (advantage < 0)), np.mean((ratio > 1.02) & (advantage > 0))
        assert kl == pytest.approx(expected["kl"][step], rel=1e-3, abs=1e-7)
        assert low == pytest.approx(expected["clip_ratio/low_mean"][step], abs=1e-6)
        assert high == pytest.approx(expected["clip_ratio/high_mean"][step], abs=1e-6)
        assert mean_entropy(these) == pytest.approx(expected["entropy"][step], rel=1e-4)
    assert moved > 0.02 and max(expected["clip_ratio/region_mean"].values()) > 0


def test_tokens_scored_with_the_padding_behind_are_those_of_the_completion(outputs: dict[str, Path]) -> None:
    """The same first generation as TRL's, scored and trained on the way unsloth does."""
    names = ("step", "prompt", "prompt_tokens", "completion", "token_ids", "old_logp", "ref_logp")
    first = [
        [s for s in columns(opened(outputs[kind]), *names) if s["step"] <= 2] for kind in ("grpo_split", "grpo_packed")
    ]
    plain, packed = ({(s["prompt"], s["completion"]): s for s in samples} for samples in first)
    assert len(first[1]) == 16 and plain.keys() == packed.keys()
    assert len({s["prompt_tokens"] for s in first[1]}) > 1  # so that some were padded
    for key, sample in packed.items():
        for name in ("old_logp", "ref_logp"):
            assert len(sample[name]) == len(sample["token_ids"])
            assert np.asarray(sample[name]) == pytest.approx(np.asarray(plain[key][name]), abs=1e-4)


def test_samples_of_a_loss_that_shows_no_tokens_say_when_they_were_trained_on(outputs: dict[str, Path]) -> None:
    names = ("step", "policy_version_min", "off_policy_steps", "advantage", "logp", "entropy")
    samples = columns(opened(outputs["grpo_packed"]), *names)
    for step in range(1, 9):
        these, written = [s for s in samples if s["step"] == step], (step - 1) // 2 * 2
        assert len(these) == 8 and {s["policy_version_min"] for s in these} == {written}
        assert {s["off_policy_steps"] for s in these} == {step - 1 - written}
    assert not any(len(s[name] if s[name] is not None else ()) for s in samples for name in ("logp", "entropy"))


def test_profiled_parts_and_steps_are_spans(outputs: dict[str, Path]) -> None:
    spans = opened(outputs["grpo"]).spans()
    names = set(spans["name"])
    parts = ("_prepare_inputs", "_calculate_rewards", "compute_loss", "digit_reward")
    assert {"step", *(f"GRPOTrainer.{part}" for part in parts)} <= names
    steps = np.asarray(spans["step"])[np.asarray(spans["name"]) == "step"]
    assert sorted(steps.tolist()) == list(range(1, 26))
    of_step = {name: np.asarray(spans["step"])[np.asarray(spans["name"]) == name].tolist() for name in names}
    assert sorted(of_step["optimizer"]) == list(range(1, 26))
    assert of_step["evaluate"] == [10, 20, 25]
    seconds = (np.asarray(spans["end_ns"]) - np.asarray(spans["start_ns"])) / 1e9
    assert (seconds >= 0).all() and seconds.max() < math.inf


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps in which the policy calls a tool."""
    return ran("", tmp_path_factory.mktemp("tools"), script="trl_tools_run.py")


def test_calls_of_tools_are_turns_and_give_the_numbers_of_the_trainer(tools: Path) -> None:
    run = opened(tools)
    samples, turns = run.samples(), run.sql("select * from turns order by sample, turn")
    assert samples["turns"].tolist() == [2] * 8 and samples["tool_calls"].tolist() == [1] * 8
    roles = [turns["role"][turns["sample"] == id].tolist() for id in samples["id"]]
    assert roles == [["assistant", "tool", "assistant"]] * 8
    called = turns["role"] == "tool"
    assert {*turns["tool"][called]} == {"add"} and json.loads(turns["arguments"][called][0])["a"] == 2
    for step in (1, 2):
        at = samples["step"] == step
        failed = samples["tool_failures"][at].sum() / samples["tool_calls"][at].sum()
        assert failed == run.series("tools/failure_frequency")["value"][step - 1] == 0.25
        assert samples["tool_calls"][at].mean() == run.series("tools/call_frequency")["value"][step - 1]


def test_the_table_says_what_is_recorded(outputs: dict[str, Path], tools: Path) -> None:
    assert recorded(opened(outputs["grpo"])) | recorded(opened(tools)) == held("trl", LIVE)


def test_no_fault_of_ours_reaches_the_trainer(tmp_path: Path) -> None:
    """Trainings in which our code failed have the numbers of one in which it did not."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, HERE / "trl_faults_run.py", tmp_path, *FAULTS]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("a bug of ours") >= 5 and "No space left" in done.stderr and "'advantages'" in done.stderr
    plain = logged(tmp_path)
    assert len(columns(opened(tmp_path), "id")) == 32
    for fault in FAULTS:
        values = logged(tmp_path / fault)
        assert values.keys() == plain.keys() and max(values["loss"]) == 4
        same = ("loss", "reward", "kl", "entropy", "grad_norm", "completions/mean_length")
        assert all(values[name] == plain[name] for name in same), fault


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
