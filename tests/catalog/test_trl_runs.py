"""What TRL 1.16.0 logged in two real runs, computed again from the samples it wrote.

The samples have rewards and advantages but no token ids. Lengths are therefore checked from those
that the log determines: a cut completion has the maximum, and one or two ended ones are the logged
minimum and maximum. An evaluation at the same step replaces the training samples (steps 10, 20,
25).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs

DATA = Path(__file__).parent / "data" / "trl"
RUNS: dict[str, Any] = {name: json.loads((DATA / f"{name}.json").read_text()) for name in ("grpo", "grpo_nan")}
WEIGHTS = {"grpo": {"digit_reward": 1.0, "brevity_reward": 0.5}, "grpo_nan": {"sometimes": 1.0, "const": 1.0}}
LONGEST = {"grpo": 24, "grpo_nan": 8}
PROMPT = {"grpo": 12, "grpo_nan": 9}
REPLACED_BY_EVALUATION = {10, 20, 25}


def log_of(run: str) -> dict[int, dict[str, Any]]:
    return {row["step"]: row for row in RUNS[run]["log"] if "loss" in row}


STEPS = [(run, step) for run in RUNS for step in log_of(run)]
TRAINED = [(run, step) for run, step in STEPS if run != "grpo" or step not in REPLACED_BY_EVALUATION]


def batch_of(run: str, step: int) -> dict[str, Any]:
    """The batch a user would pass: components with None for no reward, and their weighted sum."""
    samples = RUNS[run]["samples"][str(step)]
    parts = {name: np.array([math.nan if x is None else x for x in samples[name]]) for name in WEIGHTS[run]}
    weighted = np.stack([WEIGHTS[run][name] * x for name, x in parts.items()])
    reward = np.where(np.isnan(weighted).all(0), math.nan, np.nansum(weighted, 0))
    return {
        "reward": reward,
        "rewards": {name: samples[name] for name in parts},
        "group": samples["group"],
        "advantages": samples["advantage"],
    }


@pytest.mark.parametrize("run, step", TRAINED)
def test_rewards_are_what_trl_logged(run: str, step: int) -> None:
    named = rs.rename(rs.compute(batch_of(run, step)), "trl:grpo@1.16")
    logged = log_of(run)[step]
    keys = [
        "reward",
        "reward_std",
        "frac_reward_zero_std",
        *(f"rewards/{name}/{stat}" for name in WEIGHTS[run] for stat in ("mean", "std")),
    ]
    for key in keys:
        assert named[key] == pytest.approx(
            math.nan if logged[key] is None else logged[key], rel=1e-5, abs=1e-6, nan_ok=True
        ), key


@pytest.mark.parametrize("step", sorted(REPLACED_BY_EVALUATION))
def test_the_samples_kept_at_an_evaluation_step_are_not_the_trained_ones(step: int) -> None:
    named = rs.rename(rs.compute(batch_of("grpo", step)), "trl")
    assert abs(named["reward"] - log_of("grpo")[step]["reward"]) > 1e-3


def test_a_sample_without_any_reward_is_outside_the_mean_and_counted() -> None:
    metrics = rs.compute(batch_of("grpo_nan", 1))
    assert metrics["reward/mean"].weight == 7 and metrics["reward/missing"].value == 1 / 8
    assert metrics["reward_component/sometimes/missing"].value == 3 / 8
    assert metrics["reward/mean"].value == pytest.approx(7.714285850524902)
    assert metrics["group/size/mean"].value == 4


def test_a_function_that_gave_nothing_all_step_is_no_data_not_zero() -> None:
    metrics = rs.compute(batch_of("grpo_nan", 2))
    assert (
        math.isnan(metrics["reward_component/sometimes/mean"].value)
        and metrics["reward_component/sometimes/mean"].weight == 0
    )
    assert metrics["reward_component/sometimes/missing"].value == 1


@pytest.mark.parametrize("run, step", TRAINED)
def test_group_normalised_advantages_average_to_nothing(run: str, step: int) -> None:
    metrics = rs.compute(batch_of(run, step))
    assert metrics["advantage_sample/mean"].value == pytest.approx(0, abs=1e-4)


def lengths_of(run: str, logged: dict[str, Any]) -> tuple[list[float], list[int]] | None:
    """(lengths, ended) of the steps whose log determines them."""
    samples = 16 if run == "grpo" else 8
    ended = round(samples * (1 - logged["completions/clipped_ratio"]))
    low, mean, high = (logged[f"completions/{stat}_terminated_length"] for stat in ("min", "mean", "max"))
    own = {0: [], 1: [low], 2: [low, high], 3: [low, round(3 * mean) - low - high, high]}.get(ended)
    return (
        None
        if own is None
        else (own + [float(LONGEST[run])] * (samples - ended), [1] * ended + [0] * (samples - ended))
    )


DETERMINED = [(run, step, *known) for run, step in STEPS if (known := lengths_of(run, log_of(run)[step]))]


@pytest.mark.parametrize(
    "run, step, lengths, ended", DETERMINED, ids=lambda x: str(x) if isinstance(x, (str, int)) else ""
)
def test_lengths_and_ends_are_what_trl_logged(run: str, step: int, lengths: list[float], ended: list[int]) -> None:
    logged = log_of(run)[step]
    before = log_of(run)[step - 1]["num_tokens"] if step > 1 else 0
    batch = {
        "completion_tokens": lengths,
        "terminated": ended,
        "prompt_tokens": PROMPT[run],
        "tokens_before": before,
        "max_completion_tokens": LONGEST[run],
    }
    named = rs.rename(rs.compute(batch), "trl:grpo")
    for key in (
        "completions/mean_length",
        "completions/min_length",
        "completions/max_length",
        "completions/clipped_ratio",
        "num_tokens",
    ):
        assert named[key] == pytest.approx(logged[key]), key
    for stat in ("mean", "min", "max"):
        key = f"completions/{stat}_terminated_length"
        assert named[key] == pytest.approx(logged[key] if sum(ended) else math.nan, nan_ok=True), key


def test_the_log_determines_the_lengths_of_most_steps() -> None:
    assert len(DETERMINED) >= 25


def test_an_end_at_the_very_limit_is_an_end_where_the_batch_says_so() -> None:
    logged = log_of("grpo_nan")[4]
    assert logged["completions/max_terminated_length"] == LONGEST["grpo_nan"]
    lengths, ended = lengths_of("grpo_nan", logged) or ([], [])
    metrics = rs.compute(
        {"completion_tokens": lengths, "terminated": ended, "max_completion_tokens": LONGEST["grpo_nan"]}
    )
    assert metrics["length/not_ended"].value == logged["completions/clipped_ratio"] == 0.75
    assert metrics["length/truncated"].value == 7 / 8  # by the limit only: TRL has no stop reasons
