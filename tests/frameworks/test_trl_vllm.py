"""TRL with a vLLM engine on the CPU: what the engine answers is recorded, and gives TRL's numbers.

Needs `.venvs/vllm` and `.venvs/trlvllm`, which `run.py` creates.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.views.time.times import times
from tests.frameworks.test_trl import columns, lengths_of, logged, mean_entropy, opened, stored_is_logged
from tests.recorded import LIVE, held, recorded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "vllm" / "bin" / "python"
TRL = ROOT / ".venvs" / "trlvllm"  # trl 1.16 without dependencies
KINDS = ("grpo", "grpo_split", "grpo_twice", "rloo", "tools")  # of trl_vllm_run.py
IN_TWO = ("grpo_split", "grpo_twice")  # two updates of a generation
ORIGIN = ("step", "split", "group", "repeat", "policy_version_min", "policy_version_max", "off_policy_steps")
FATE = ("reward", "rewards", "advantage", "trained", "discard_reason", "stop_reason", "completion_tokens", "turns")
TOKENS = ("token_ids", "action_mask", "rollout_logp", "old_logp", "ref_logp", "logp", "entropy")

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
    pytest.mark.skipif(not PYTHON.exists(), reason="vLLM's CPU build takes no other build of torch than the CPU's"),
]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind, in one process with one engine."""
    root = tmp_path_factory.mktemp("trl_vllm")
    ran("trl_vllm_run.py", root, *KINDS)
    return {kind: root / kind for kind in KINDS}


def ran(script: str, *arguments: Any) -> None:
    paths = os.pathsep.join([str(ROOT / "src"), str(TRL)])
    env = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [PYTHON, HERE / script, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]


def samples_of(out: Path, split: str = "train") -> list[dict[str, Any]]:
    """Samples in the order in which they were generated: ids are `batch.number`."""
    found = columns(opened(out), "id", *ORIGIN, *FATE, *TOKENS)
    return [s for s in sorted(found, key=lambda s: [*map(int, s["id"].split("."))]) if s["split"] in split.split()]


def array(sample: dict[str, Any], name: str) -> np.ndarray:
    """The values of the tokens that the policy wrote, without answers of tools."""
    values = np.asarray(sample[name], float)
    return values if sample["action_mask"] is None else values[np.asarray(sample["action_mask"], bool)]


def gap(sample: dict[str, Any]) -> np.ndarray:
    """What the trainer says of a token above what the engine says."""
    return array(sample, "old_logp") - array(sample, "rollout_logp")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_what_the_trainer_logged(kind: str, outputs: dict[str, Path]) -> None:
    stored_is_logged(outputs[kind], steps=1)
    assert kind == "rloo" or "sampling/importance_sampling_ratio/mean" in logged(outputs[kind])


@pytest.mark.parametrize("kind", ["grpo", "grpo_split", "grpo_twice", "rloo"])
def test_a_sample_is_what_the_engine_answered(kind: str, outputs: dict[str, Path]) -> None:
    are_answers(outputs[kind], asked=kind != "rloo")  # TRL's RLOO does not ask for log-probabilities


def are_answers(out: Path, asked: bool = True) -> None:
    """Samples have the engine's tokens, log-probabilities and version."""
    answers = json.loads((out / "answers.json").read_text())
    samples = samples_of(out, "train eval")
    assert len(answers) == len(samples) >= 24
    for answer, sample in zip(answers, samples, strict=True):
        assert [*sample["token_ids"]] == answer["ids"]
        assert sample["policy_version_min"] == sample["policy_version_max"] == answer["updates"]
        if asked:
            assert np.array_equal(sample["rollout_logp"], np.asarray(answer["logps"], np.float32))
        else:
            assert sample["rollout_logp"] is None and answer["logps"] == []


def test_the_engine_has_the_weights_of_the_trainer(outputs: dict[str, Path]) -> None:
    agree(samples_of(outputs["grpo"]), updates=6)
    agree(samples_of(outputs["grpo"], "eval"), updates=2)


def agree(samples: list[dict[str, Any]], updates: int) -> None:
    """Engine and trainer agree on every token, while the policy leaves its reference."""
    assert all(len(s[name]) == s["completion_tokens"] for s in samples for name in TOKENS[2:5])
    assert max(np.abs(gap(s)).max() for s in samples) < 1e-4
    moved = {version: 0.0 for version in sorted({s["policy_version_min"] for s in samples})}
    for s in samples:
        moved[s["policy_version_min"]] += float(np.abs(array(s, "old_logp") - array(s, "ref_logp")).max())
    assert len(moved) == updates
    assert all(away > 0.5 for version, away in moved.items() if version)


@pytest.mark.parametrize("kind", ["grpo", "grpo_split", "grpo_twice", "tools"])
def test_samples_give_what_trl_says_of_engine_and_trainer(kind: str, outputs: dict[str, Path]) -> None:
    give_the_mismatch(kind, outputs[kind])


def give_the_mismatch(kind: str, out: Path) -> None:
    samples, expected = samples_of(out), logged(out)
    for step, ratio_mean in expected["sampling/importance_sampling_ratio/mean"].items():
        these = [s for s in samples if s["policy_version_min"] == step - 1]  # all of the generation
        gaps, ratios = np.concatenate([np.abs(gap(s)) for s in these]), weights(kind, these)
        difference = "sampling/sampling_logp_difference"
        assert gaps.mean() == pytest.approx(expected[f"{difference}/mean"][step], rel=1e-4, abs=1e-9)
        assert gaps.max() == pytest.approx(expected[f"{difference}/max"][step], rel=1e-4, abs=1e-9)
        assert ratios.mean() == pytest.approx(ratio_mean, rel=1e-4)
        for name, value in (("min", ratios.min()), ("max", ratios.max())):
            assert value == pytest.approx(expected[f"sampling/importance_sampling_ratio/{name}"][step], rel=1e-4)
        assert (gaps.max() > 0.04) == (kind not in ("grpo", "server"))  # elsewhere the engine draws from fewer tokens


def weights(kind: str, samples: list[dict[str, Any]]) -> np.ndarray:
    """TRL's importance weights, in the mode of each training: of tokens, or of sequences."""
    if kind == "grpo_split":
        return np.concatenate([np.clip(np.exp(gap(s)), 0.1, 3) for s in samples])
    ratios = np.array([np.exp(gap(s).sum()) for s in samples])
    return np.where((ratios > 3) | (ratios < (0.5 if kind == "grpo_twice" else 0)), 0, ratios)


def test_sequences_that_trl_masks_are_not_trained_on(outputs: dict[str, Path]) -> None:
    samples = samples_of(outputs["grpo_twice"])
    kept = weights("grpo_twice", samples) > 0
    assert [s["trained"] for s in samples] == kept.tolist() and 0 < kept.sum() < len(samples)
    assert [s["discard_reason"] for s in samples] == [None if one else "importance_ratio" for one in kept]
    for kind in ("grpo", "grpo_split", "rloo", "tools"):  # others have their KL in the loss, whatever the ratio is
        assert all(s["trained"] and s["discard_reason"] is None for s in samples_of(outputs[kind]))


@pytest.mark.parametrize("kind", ["grpo", "grpo_split", "grpo_twice", "rloo"])
def test_samples_give_rewards_lengths_and_advantages(kind: str, outputs: dict[str, Path]) -> None:
    samples, expected = samples_of(outputs[kind]), logged(outputs[kind])
    for step in sorted(expected["reward"]):
        these = [s for s in samples if s["policy_version_min"] == step - 1]
        assert len(these) == (16 if kind == "grpo_split" else 8)
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        theirs = [expected[f"completions/{name}_length"][step] for name in ("mean", "min", "max")]
        assert [*lengths_of(these)] == pytest.approx(theirs)
        clipped = np.mean([s["stop_reason"] == "length" for s in these])
        assert clipped == pytest.approx(expected["completions/clipped_ratio"][step])
        for name in ("digit_reward", "brevity_reward"):
            scores = [given[name] for s in these if name in (given := parts(s["rewards"]))]  # one may have none
            assert np.mean(scores) == pytest.approx(expected[f"rewards/{name}/mean"][step], rel=1e-5)
        for group in {s["group"] for s in these} if kind != "rloo" else ():
            rewards, advantages = np.array([(s["reward"], s["advantage"]) for s in these if s["group"] == group]).T
            scaled = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
            assert len(rewards) == 4 and advantages == pytest.approx(scaled, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("kind", ["grpo", *IN_TWO])
def test_tokens_are_of_the_update_that_the_sample_is_at(kind: str, outputs: dict[str, Path]) -> None:
    samples, expected = samples_of(outputs[kind]), logged(outputs[kind])
    steps = [1, 3, 5] if kind == "grpo_twice" else [1, 2, 3, 4, 5, 6]
    assert sorted({s["step"] for s in samples}) == steps
    moved = 0.0
    for step in steps:
        these = [s for s in samples if s["step"] == step]
        wrote = step - 1 if kind == "grpo" else (step - 1) // 2 * 2
        assert len(these) == 8 and {s["policy_version_min"] for s in these} == {wrote}
        assert {s["off_policy_steps"] for s in these} == {step - 1 - wrote}
        logp, old = (np.concatenate([array(s, name) for s in these]) for name in ("logp", "old_logp"))
        advantage = np.concatenate([np.full(len(s["logp"]), s["advantage"]) for s in these])
        ratio = np.exp(logp - old)
        low, high = np.mean((ratio < 0.98) & (advantage < 0)), np.mean((ratio > 1.02) & (advantage > 0))
        moved = max(moved, float(np.abs(ratio - 1).max()))
        if kind != "grpo":  # it has another epsilon
            assert low == pytest.approx(expected["clip_ratio/low_mean"][step], abs=1e-6)
            assert high == pytest.approx(expected["clip_ratio/high_mean"][step], abs=1e-6)
        if kind != "grpo_twice":  # it has no reference
            x = np.concatenate([array(s, "ref_logp") for s in these]) - logp
            kl = np.mean(ratio * (np.exp(x) - x - 1))
            assert kl == pytest.approx(expected["kl"][step], rel=1e-3, abs=1e-7)
        assert mean_entropy(these) == pytest.approx(expected["entropy"][step], rel=1e-4)
    assert (moved > 0.02) == (kind == "grpo_split")


def test_generation_and_weights_are_spans_of_their_step(outputs: dict[str, Path]) -> None:
    """The times of an evaluation are its own: TRL generates in it with the engine, too."""
    spans = opened(outputs["grpo"]).spans()
    named = [*zip(spans["name"], spans["step"], strict=True)]
    steps = {name: sorted({step for one, step in named if one == name}) for name in {*spans["name"]}}
    assert steps["GRPOTrainer.vLLM.generate"] == [1, 2, 3, 4, 5, 6]
    assert steps["GRPOTrainer.sync_weights"] == [1, 2, 3, 5, 6]  # the evaluation after step 3 brought those of step 4
    assert steps["evaluate/GRPOTrainer.vLLM.generate"] == steps["evaluate"] == [3, 6]
    assert steps["evaluate/GRPOTrainer.sync_weights"] == [3, 6]
    assert [name for name, _ in named].count("GRPOTrainer.vLLM.generate") == 6
    ours = times(opened(outputs["grpo"]))
    assert ours["time/generate"]["step"].tolist() == steps["GRPOTrainer.vLLM.generate"]
    assert ours["time/sync_weights"]["step"].tolist() == steps["GRPOTrainer.sync_weights"]
    assert all((ours["time/active"]["value"] >= ours["time/generate"]["value"]).tolist())


def test_calls_of_tools_are_turns_with_what_the_engine_said(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["tools"]), logged(outputs["tools"])
    answers = json.loads((outputs["tools"] / "answers.json").read_text())
    samples = samples_of(outputs["tools"])
    turns = run.sql("select * from turns order by sample, turn")
    assert len(samples) == 16 and {*turns["role"]} == {"assistant", "tool"}
    assert len(answers) > len(samples)  # some answered a tool
    for version in (0, 1):
        these = [s for s in samples if s["policy_version_min"] == version]
        said = [logp for one in answers if one["updates"] == version for logp in one["logps"]]
        held_back = sorted(np.concatenate([array(s, "rollout_logp") for s in these]).tolist())
        assert held_back == sorted(np.asarray(said, np.float32).tolist())
        ok = [*turns["ok"][(turns["role"] == "tool") & (turns["step"] == version + 1)]]
        called = [one for one in ok if one is not None]  # TRL counts calls that it made: not the last of too many
        assert len(called) / len(these) == expected["tools/call_frequency"][version + 1] > 0
        failed = called.count(False) / len(called)
        assert failed == pytest.approx(expected["tools/failure_frequency"][version + 1])


def test_the_table_says_what_is_recorded(outputs: dict[str, Path]) -> None:
    found = recorded(opened(outputs["grpo"])) | recorded(opened(outputs["tools"]))
    assert found == held("trl", LIVE)


def parts(value: Any) -> dict[str, float]:
    return dict(json.loads(value) if isinstance(value, str) else value)
