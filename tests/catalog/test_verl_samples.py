"""veRL 0.9.1's data metrics of samples, computed from its inputs and written under its names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs

from .not_matched.samples import VERL

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "verl_samples.json").read_text())
EXTRAS = ("num_turns", "tool_call_counts")


def batch_of(case: str) -> dict[str, Any]:
    score = np.array(ORACLE["score"])
    batch = {
        "action_mask": np.array(ORACLE["action_mask"]),
        "valid_mask": np.array(ORACLE["valid_mask"]),
        "prompt_tokens": np.array(ORACLE["prompt_mask"]).sum(1),
        "score": score,
        "group": ORACLE["uid"],
        "padded_prompt_tokens": 6,
        "padded_response_tokens": 12,
    }
    if case == "gae_critic":  # KL in the reward, and an agent loop that counts turns and tools
        batch |= {
            "reward": ORACLE["reward_with_kl"],
            "conversation_turns": ORACLE["num_turns"],
            "tool_calls": ORACLE["tool_call_counts"],
        }
    return batch


@pytest.mark.parametrize("case", ["gae_critic", "grpo_nocritic"])
def test_sample_metrics_are_verls(case: str) -> None:
    named = rs.rename(rs.compute(batch_of(case)), "verl")
    for key, value in ORACLE["outputs"][case].items():
        assert named[key] == pytest.approx(value, rel=1e-5, abs=1e-5), key


@pytest.mark.parametrize("case", ["gae_critic", "grpo_nocritic"])
def test_two_ranks_merge_to_verls_numbers(case: str) -> None:
    batch = batch_of(case)
    halves = []
    for half in (slice(0, 5), slice(5, 16)):
        halves.append(rs.compute({k: v if np.ndim(v) == 0 else v[half] for k, v in batch.items()}))
    named = rs.rename({name: halves[0][name] + halves[1][name] for name in halves[0]}, "verl")
    for key, value in ORACLE["outputs"][case].items():
        assert named[key] == pytest.approx(value, rel=1e-5, abs=1e-5), key


def test_generations_are_not_written_as_verls_turns() -> None:
    named, why = rs.rename(rs.compute({"turns": [1, 1, 2]}), "verl", missing=True)
    for key in VERL:
        if key.startswith("num_turns"):
            assert key not in named and "generations" in why[key]


def test_truncation_is_not_written_as_a_clip_ratio() -> None:
    batch = {"completion_tokens": [7, 9, 12, 12], "max_completion_tokens": 64}
    named, why = rs.rename(rs.compute(batch), "verl", missing=True)
    assert "response_length/clip_ratio" not in named and "padded width" in why["response_length/clip_ratio"]
    padded = rs.rename(rs.compute({"response_tokens": [7, 9, 12, 12], "padded_response_tokens": 12}), "verl")
    assert padded["response_length/clip_ratio"] == 0.5


def test_times_of_the_agent_loop_per_sample() -> None:
    batch = {
        "generate_seconds": [2.0, 3.0, 1.0],
        "tool_seconds": [0.0, 5.0, 0.5],
        "reward_seconds": [0.1, 0.2, 0.3],
        "prompt_tokens": [10, 20, 30],
        "response_tokens": [100, 200, 300],
        "num_preempted": [0, 2, -1],
    }
    named = rs.rename(rs.compute(batch), "verl")
    loop = "timing_s/agent_loop/"
    assert [named[f"{loop}generate_sequences/{s}"] for s in ("min", "max", "mean")] == [1, 3, 2]
    assert named[f"{loop}tool_calls/max"] == 5 and named[f"{loop}compute_score/mean"] == pytest.approx(0.2)
    assert named[f"{loop}num_preempted/mean"] == 1
    slowest = {
        "generate_sequences": 3,
        "tool_calls": 5,
        "compute_score": 0.2,
        "prompt_length": 20,
        "response_length": 200,
        "num_preempted": 2,
    }
    assert {key: named[f"{loop}slowest/{key}"] for key in slowest} == slowest


def test_versions_of_a_trajectory() -> None:
    batch = {"policy_version_now": 9, "policy_version_min": [9, 7, 8], "policy_version_max": [9, 9, 8]}
    named = rs.rename(rs.compute(batch), "verl@0.9")
    off = "training/off_policy/trajectory_"
    assert [named[f"{off}staleness_worst/{s}"] for s in ("mean", "max", "min")] == [1, 2, 0]
    assert [named[f"{off}staleness/{s}"] for s in ("mean", "max", "min")] == [pytest.approx(1 / 3), 1, 0]
    assert [named[f"{off}spans/{s}"] for s in ("mean", "max", "min")] == [pytest.approx(5 / 3), 3, 1]
