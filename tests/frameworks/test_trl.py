"""The real TRL, a tiny random model, on the CPU: what Rollscope stored is what the trainer logged, key by key.

Needs `.venvs/trl` (and `.venvs/trl112` for PPO), which `run.py` makes.
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

from rollscope.store import store as rs  # what was written, without the views that are made of it

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "trl" / "bin" / "python"
PPO = ROOT / ".venvs" / "trl112"  # trl 1.12 alone, over the packages of the other
WORDS = (
    "add 2 and 3",
    "add 4 and 5",
    "say 7",
    "count to 3",
    "what is 9",
    "half of 8",
    "ten less 1",
    "2 times 2",
)  # the prompts of trl_run.py
KINDS = ("grpo", "grpo_split", "rloo", "dpo", "kto", "reward", "sft", "ppo", "callback", "report_to")
LAUNCHERS = {  # of two processes; accelerate starts more than one only where it is told of GPUs, and they find none
    "torchrun": ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2"),
    "accelerate launch": (
        *(
            "-m",
            "accelerate.commands.launch",
            "--multi_gpu",
            "--num_processes=2",
            "--num_machines=1",
            "--mixed_precision=no",
            "--dynamo_backend=no",
        ),
        *("--main_process_ip=127.0.0.1", "--main_process_port=0"),
    ),
}

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind, run once, in processes of their own."""
    root = tmp_path_factory.mktemp("trl")
    return {kind: ran(kind, root / kind) for kind in KINDS}


def ran(kind: str, out: Path, *launcher: str) -> Path:
    paths = [str(ROOT / "src"), *([str(PPO)] if kind == "ppo" else [])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [PYTHON, *launcher, HERE / "trl_run.py", kind, out], env=env, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, f"{kind}: {done.stderr[-3000:]}"
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    return out


def logged(out: Path) -> dict[str, dict[int, float]]:
    """The trainer's own log: name -> step -> value. Null is no data; of two values at one step the later stands."""
    found: dict[str, dict[int, float]] = {}
    for entry in json.loads((out / "log_history.json").read_text()):
        for name, value in entry.items():
            if name != "step" and value is not None:
                found.setdefault(name, {})[entry["step"]] = float(value)
    return found


def opened(out: Path) -> Any:
    return rs.open(out / "runs").run()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_what_the_trainer_logged(kind: str, outputs: dict[str, Path]) -> None:
    stored_is_logged(outputs[kind])


def stored_is_logged(out: Path) -> None:
    run, expected = opened(out), logged(out)
    assert len(expected) > 8 and max(expected["epoch"]) > 2
    assert len(rs.open(out / "runs").runs()) == 1
    for name, values in expected.items():
        found = run.series(name)
        assert dict(zip(found["step"].tolist(), found["value"].tolist(), strict=True)) == pytest.approx(
            values, rel=0, abs=0, nan_ok=True
        ), name
    assert set(run.metrics()["name"]) - set(expected) == set()


@pytest.mark.parametrize(
    ("kind", "dialect"),
    [("grpo", "trl:grpo@1.16"), ("rloo", "trl:rloo@1.16"), ("dpo", "trl:dpo@1.16"), ("ppo", "trl:ppo@1.12")],
)
def test_the_run_knows_trainer_version_and_how_it_ended(kind: str, dialect: str, outputs: dict[str, Path]) -> None:
    record = opened(outputs[kind]).record()
    assert record["framework"].startswith(dialect) and record["state"] == "finished" and record["algorithm"] == kind


def columns(run: Any, *names: str) -> list[dict[str, Any]]:
    found = run.samples(columns=list(names))
    return [dict(zip(names, row, strict=True)) for row in zip(*(found[name] for name in names), strict=True)]


@pytest.mark.parametrize("kind", ["grpo", "rloo"])
def test_samples_recompute_the_trainers_rewards_and_lengths(kind: str, outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs[kind]), logged(outputs[kind])
    samples = columns(
        run, "step", "split", "reward", "rewards", "completion_tokens", "stop_reason", "group", "prompt", "trained"
    )
    for step in sorted(expected["reward"]):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        lengths = [s["completion_tokens"] for s in these]
        assert len(these) == 8 and len({s["group"] for s in these}) == 2 and all(s["trained"] for s in these)
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        assert np.std([s["reward"] for s in these], ddof=1) == pytest.approx(expected["reward_std"][step], rel=1e-4)
        for function in ("digit_reward", "brevity_reward"):
            scores = [r[function] for s in these if function in (r := _json(s["rewards"]))]
            assert np.mean(scores) == pytest.approx(expected[f"rewards/{function}/mean"][step], rel=1e-5)
        assert (np.mean(lengths), min(lengths), max(lengths)) == tuple(
            expected[f"completions/{stat}_length"][step] for stat in ("mean", "min", "max")
        )
        assert np.mean([s["stop_reason"] == "length" for s in these]) == expected["completions/clipped_ratio"][step]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_ranks_are_one_run_whose_samples_recompute_what_the_trainer_gathered(tmp_path: Path, launcher: str) -> None:
    out = ran("grpo_ranks", tmp_path / "out", *LAUNCHERS[launcher])
    stored_is_logged(out)  # rank 1 logs the same names, and adds nothing to them
    run, expected = opened(out), logged(out)
    samples = columns(
        run,
        "id",
        "step",
        "split",
        "reward",
        "group",
        "repeat",
        "advantage",
        "completion_tokens",
        "token_ids",
        "entropy",
    )
    assert len({s["id"] for s in samples}) == len(samples) and run.record()["state"] == "finished"
    for step in range(1, 5):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        assert sorted(int(s["id"].split(".")[1]) for s in these) == list(range(12))  # six of each rank
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        assert np.std([s["reward"] for s in these], ddof=1) == pytest.approx(expected["reward_std"][step], rel=1e-4)
        lengths = [s["completion_tokens"] for s in these]
        assert (np.mean(lengths), min(lengths), max(lengths)) == pytest.approx(
            [expected[f"completions/{s}_length"][step] for s in ("mean", "min", "max")]
        )
        assert all(len(s["entropy"]) == len(s["token_ids"]) for s in these)
        assert np.mean(np.concatenate([np.asarray(s["entropy"], float) for s in these])) == pytest.approx(
            expected["entropy"][step], rel=1e-4
        )
        for group in {s["group"] for s in these}:  # of three groups the middle one lies on both ranks
            rewards, advantages = np.array([(s["reward"], s["advantage"]) for s in these if s["group"] == group]).T
            assert len(rewards) == 4 and advantages == pytest.approx(
                (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4), rel=1e-3, abs=1e-4
            )
    for step in (2, 4):
        evaluated = [s["reward"] for s in samples if s["step"] == step and s["split"] == "eval"]
        assert len(evaluated) == 32 and np.mean(evaluated) == pytest.approx(expected["eval_reward"][step], rel=1e-5)
    spans = run.spans()
    steps = sorted(
        (rank, step)
        for rank, step, name in zip(spans["rank"], spans["step"], spans["name"], strict=True)
        if name == "step"
    )
    assert steps == [(rank, step) for rank in (0, 1) for step in range(1, 5)]


@pytest.mark.parametrize("kind", ["dpo", "kto"])
def test_pairs_recompute_the_trainers_implicit_rewards_and_logps(kind: str, outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs[kind]), logged(outputs[kind])
    samples = columns(
        run,
        "step",
        "split",
        "tags",
        "reward",
        "logp",
        "ref_logp",
        "token_ids",
        "completion",
        "prompt",
        "group",
        "trained",
    )
    for step in range(1, 9):
        these = [s for s in samples if s["step"] == step and s["split"] == "train"]
        assert (
            len(these) == (8 if kind == "dpo" else 4)
            and len({s["group"] for s in these}) == 4
            and all(s["trained"] and s["prompt"] in WORDS for s in these)
        )
        for word, said in (("chosen", " yes"), ("rejected", " no")):
            own = [s for s in these if _json(s["tags"]) == [word]]
            assert own and all(
                s["completion"].startswith(said) and len(s["logp"]) == len(s["ref_logp"]) == len(s["token_ids"])
                for s in own
            )
            assert np.mean([s["reward"] for s in own]) == pytest.approx(
                expected[f"rewards/{word}"][step], rel=1e-4, abs=1e-6
            )
            assert np.mean([np.sum(s["logp"]) for s in own]) == pytest.approx(expected[f"logps/{word}"][step], rel=1e-5)
    assert {s["split"] for s in samples} == ({"train", "eval"} if kind == "dpo" else {"train"})


def test_pairs_of_a_reward_model_have_its_scores(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["reward"]), logged(outputs["reward"])
    samples = columns(run, "step", "tags", "reward", "completion")
    for step in range(1, 9):
        chosen, rejected = (
            [s["reward"] for s in samples if s["step"] == step and _json(s["tags"]) == [word]]
            for word in ("chosen", "rejected")
        )
        assert len(chosen) == len(rejected) == 4
        assert np.mean(chosen) - np.mean(rejected) == pytest.approx(expected["margin"][step], rel=1e-4)
        assert np.mean(np.greater(chosen, rejected)) == pytest.approx(expected["accuracy"][step])


def test_episodes_of_ppo_recompute_its_scores_and_rewards(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["ppo"]), logged(outputs["ppo"])
    samples = columns(run, "step", "reward", "score", "prompt", "token_ids", "old_logp", "ref_logp")
    for step in sorted(expected["objective/scores"]):
        these = [s for s in samples if s["step"] == step]
        assert len(these) == 4 and all(
            s["prompt"] in WORDS and len(s["token_ids"]) == len(s["old_logp"]) == len(s["ref_logp"]) for s in these
        )
        assert np.mean([s["score"] for s in these]) == pytest.approx(
            expected["objective/scores"][step], rel=1e-4, abs=1e-6
        )
        assert np.mean([s["reward"] for s in these]) == pytest.approx(
            expected["objective/rlhf_reward"][step], rel=1e-4, abs=1e-6
        )


def test_evaluation_samples_are_apart(outputs: dict[str, Path]) -> None:
    samples = columns(opened(outputs["grpo"]), "step", "split", "reward")
    evaluated = [s for s in samples if s["split"] == "eval"]
    assert {s["step"] for s in evaluated} == {10, 20, 25}
    expected = logged(outputs["grpo"])["eval_reward"]
    for step, value in expected.items():
        assert np.mean([s["reward"] for s in evaluated if s["step"] == step]) == pytest.approx(value, rel=1e-5)


def test_tokens_of_the_loss_find_their_samples_after_the_shuffle(outputs: dict[str, Path]) -> None:
    """The trainer's KL to the reference and its clip ratios, recomputed from what was stored for each token of each sample."""
    run, expected = opened(outputs["grpo_split"]), logged(outputs["grpo_split"])
    samples = columns(
        run, "step", "advantage", "logp", "old_logp", "ref_logp", "entropy", "token_ids", "completion_tokens"
    )
    moved = 0.0
    for step in sorted(expected["kl"]):
        these = [s for s in samples if s["step"] == step]
        assert len(these) == 8 and all(len(s["logp"]) == len(s["token_ids"]) == s["completion_tokens"] for s in these)
        logp, old, ref = (
            np.concatenate([np.asarray(s[k], float) for s in these]) for k in ("logp", "old_logp", "ref_logp")
        )
        advantage = np.concatenate([np.full(len(s["logp"]), s["advantage"]) for s in these])
        ratio, x = np.exp(logp - old), ref - logp
        moved = max(moved, float(np.abs(ratio - 1).max()))
        assert np.mean(ratio * (np.exp(x) - x - 1)) == pytest.approx(
            expected["kl"][step], rel=1e-3, abs=1e-7
        )  # use_bias_correction_kl, on by default
        assert np.mean((ratio < 0.98) & (advantage < 0)) == pytest.approx(
            expected["clip_ratio/low_mean"][step], abs=1e-6
        )
        assert np.mean((ratio > 1.02) & (advantage > 0)) == pytest.approx(
            expected["clip_ratio/high_mean"][step], abs=1e-6
        )
        assert np.mean(np.concatenate([np.asarray(s["entropy"], float) for s in these])) == pytest.approx(
            expected["entropy"][step], rel=1e-4
        )
    assert moved > 0.02 and max(expected["clip_ratio/region_mean"].values()) > 0


def test_profiled_parts_and_steps_are_spans(outputs: dict[str, Path]) -> None:
    spans = opened(outputs["grpo"]).spans()
    names = set(spans["name"])
    assert {
        "step",
        "GRPOTrainer._prepare_inputs",
        "GRPOTrainer._calculate_rewards",
        "GRPOTrainer.compute_loss",
        "GRPOTrainer.digit_reward",
    } <= names
    steps = np.asarray(spans["step"])[np.asarray(spans["name"]) == "step"]
    assert sorted(steps.tolist()) == list(range(1, 26))
    seconds = (np.asarray(spans["end_ns"]) - np.asarray(spans["start_ns"])) / 1e9
    assert (seconds >= 0).all() and seconds.max() < math.inf


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
