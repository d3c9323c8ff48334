"""Rewards: which samples count, missing rewards, and Trinity's numbers from repeats to the step."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.compute.subset import take

TRINITY: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "trinity_rollout.json").read_text())


def value(name: str, **batch: Any) -> float:
    return rs.compute(batch)[name].value


def test_the_score_is_the_reward_where_nothing_else_was_said() -> None:
    metrics = rs.compute({"score": [1, 0, 1, 1]})
    assert metrics["reward/mean"].value == metrics["score/mean"].value == 0.75
    assert "score/mean" not in rs.compute({"reward": [1, 0]})


def test_an_aborted_sample_is_in_the_lengths_and_in_no_reward() -> None:
    metrics = rs.compute(
        {
            "reward": [1, 1, 0],
            "completion_tokens": [5, 5, 0],
            "rewards": {"f": [1, 1, 0]},
            "sample_metrics": {"m": [2, 2, 0]},
            "task": [1, 1, 1],
        }
    )
    assert (
        metrics["reward/mean"].value == metrics["reward_component/f/mean"].value == 1
        and metrics["reward/mean"].weight == 2
    )
    assert metrics["sample_metric/m/mean"].value == metrics["task_metric/m/mean"].value == 2
    assert metrics["task_reward/mean"].value == 1
    assert metrics["length/aborted"].value == pytest.approx(1 / 3) and metrics["length/completion/min"].value == 0
    assert metrics["group/mixed"].value == 1  # its reward was in the baseline of its group


def test_aborted_is_read_from_the_action_mask() -> None:
    metrics = rs.compute({"reward": [1, 1, 0], "action_mask": np.array([[1, 1], [1, 0], [0, 0]])})
    assert metrics["reward/mean"].value == 1 and metrics["length/aborted"].value == pytest.approx(1 / 3)


def test_a_sample_filtered_out_of_the_loss_is_not_an_aborted_one() -> None:
    metrics = rs.compute({"reward": [1, 0], "mask": np.array([[1, 1], [0, 0]])})
    assert metrics["reward/mean"].value == 0.5 and "length/aborted" not in metrics
    metrics = rs.compute({"reward": [1, 0], "mask": np.array([[1, 1], [0, 0]]), "action_mask": np.ones((2, 2))})
    assert metrics["reward/mean"].value == 0.5 and metrics["length/aborted"].value == 0
    metrics = rs.compute(
        {
            "reward": [1, 0, 0],
            "mask": np.array([[1, 1], [0, 0], [0, 0]]),
            "valid_mask": np.array([[1, 1], [1, 1], [0, 0]]),
        }
    )
    assert metrics["reward/mean"].value == 0.5 and metrics["length/aborted"].value == pytest.approx(1 / 3)


def test_aborted_is_read_from_the_response_where_nothing_else_is_known() -> None:
    metrics = rs.compute({"score": [1, 1, 0], "response_tokens": [3, 2, 0]})
    assert metrics["score/mean"].value == 1 and metrics["length/aborted"].value == pytest.approx(1 / 3)


def test_a_missing_reward_is_left_out_and_counted_and_an_infinite_one_shows() -> None:
    metrics = rs.compute({"reward": [1.0, math.nan, 0.0, None], "group": [0, 0, 1, 1]})
    assert metrics["reward/mean"].value == 0.5 and metrics["reward/missing"].value == 0.5
    assert metrics["group/not_counted"].value == 2
    assert value("reward/max", reward=[1.0, math.inf]) == math.inf and not math.isfinite(
        value("reward/mean", reward=[1.0, math.inf])
    )


def test_no_reward_at_all_is_no_data() -> None:
    metrics = rs.compute({"reward": [math.nan, math.nan]})
    assert (
        math.isnan(metrics["reward/mean"].value)
        and metrics["reward/mean"].weight == 0
        and metrics["reward/missing"].value == 1
    )


def test_each_environment_is_read_apart() -> None:
    metrics = rs.compute({"reward": [1, 0, 2], "env": ["a", "a", "b"]})
    assert metrics["reward_env/a/mean"].value == 0.5 and metrics["reward_env/b/mean"].value == 2


def test_length_that_is_rewarded_shows() -> None:
    assert value("reward/length_correlation", reward=[0, 0.5, 1], completion_tokens=[10, 20, 30]) == pytest.approx(1)
    assert math.isnan(value("reward/length_correlation", reward=[1, 1], completion_tokens=[10, 20]))


def trinity_batch(metric: str) -> dict[str, Any]:
    tasks = TRINITY["input_tasks"]
    return {
        metric: {"accuracy": [x for runs in tasks for x in runs]},
        "task": [i for i, runs in enumerate(tasks) for _ in runs],
    }


@pytest.mark.parametrize("metric", ["sample_metrics", "rewards"])
def test_the_numbers_of_trinitys_rollout_diagram_come_out(metric: str) -> None:
    named = rs.rename(rs.compute(trinity_batch(metric)), "trinity")
    for key, expected in TRINITY["A_rollout_step_level"].items():
        assert named[key] == pytest.approx(expected), key


def test_repeats_of_a_task_on_several_ranks_are_one_task() -> None:
    batch = trinity_batch("sample_metrics")
    column, task = batch["sample_metrics"]["accuracy"], batch["task"]
    parts = [
        rs.compute({"sample_metrics": {"accuracy": column[half]}, "task": task[half]})
        for half in (slice(0, 3), slice(3, 6))
    ]
    named = rs.rename({name: parts[0][name] + parts[1][name] for name in parts[0]}, "trinity")
    assert named["rollout/accuracy/mean"] == pytest.approx(TRINITY["A_rollout_step_level"]["rollout/accuracy/mean"])


def test_a_failed_task_gives_no_accuracy_but_its_time() -> None:
    batch = {
        "task": ["ok", "ok", "failed"],
        "sample_metrics": {"accuracy": [1.0, 1.0, None]},
        "run_seconds": [2.0, 2.0, 9.0],
        "task_seconds": [2.1, 2.1, 9.1],
    }
    named = rs.rename(rs.compute(batch), "trinity")
    for key, expected in TRINITY["D_failed_task_rollout"].items():
        assert named[key] == pytest.approx(expected), key


def test_group_advantages_of_the_pipeline_diagram() -> None:
    named = rs.rename(rs.compute({"reward": [0.8, 0.8, 0.9, 0.9], "group": [1, 1, 2, 2]}), "trinity")
    for key, expected in TRINITY["J_group_advantages"].items():
        assert named[key] == pytest.approx(expected), key


def test_a_mean_of_task_means_is_not_the_sample_mean() -> None:
    metrics = rs.compute({"reward": [0] + [1] * 7, "task": ["a"] + ["b"] * 7})
    assert metrics["task_reward/mean"].value == TRINITY["J_macro_vs_micro"]["macro (code: mean of task means)"]
    assert metrics["reward/mean"].value == TRINITY["J_macro_vs_micro"]["micro (mean over 1+7 experiences)"]


def test_advantages_of_samples_weigh_long_and_short_alike() -> None:
    tokens = {"advantages": np.array([[1.0, 1.0, 1.0], [-1.0, 9.0, 9.0]]), "mask": np.array([[1, 1, 1], [1, 0, 0]])}
    assert value("advantage_sample/mean", **tokens) == 0
    assert value("advantage_sample/zero_share", advantages=[0.0, 0.0, 1.0, -1.0]) == 0.5
    assert value("advantage_sample/positive_share", advantages=[0.0, 0.0, 1.0, -1.0]) == 0.25


def test_the_samples_of_a_run_are_averaged_before_the_runs_of_a_task() -> None:
    """Trinity's chain: experience, run, task, step. The first of two runs left two experiences."""
    batch = {
        "task": ["a", "a", "a"],
        "repeat": [0, 0, 1],
        "reward": [1.0, 0.0, 1.0],
        "sample_metrics": {"accuracy": [1.0, 0.0, 1.0]},
        "run_seconds": [4.0, 4.0, 1.0],
    }
    metrics = rs.compute(batch)
    assert metrics["task_metric/accuracy/mean"].value == metrics["task_reward/mean"].value == 0.75
    assert metrics["sample_time/run_by_task/mean"].value == 2.5, "every experience carries the seconds of its run"
    assert rs.rename(metrics, "trinity")["rollout/accuracy/mean"] == 0.75
    assert metrics["reward/mean"].value == pytest.approx(2 / 3), "the pooled mean counts experiences"


def test_the_same_repeat_in_two_groups_is_two_runs() -> None:
    batch = {"task": ["a"] * 3, "group": ["g", "g", "h"], "repeat": [0, 0, 0], "reward": [1.0, 0.0, 1.0]}
    assert rs.compute(batch)["task_reward/mean"].value == 0.75


def test_a_run_on_two_ranks_is_one_run() -> None:
    batch = {"task": ["a", "a", "a", "b"], "repeat": [0, 0, 1, 0], "reward": [1.0, 0.0, 1.0, 0.0]}
    parts = [rs.compute(take(batch, index)) for index in ([0, 3], [1, 2])]
    assert (parts[0]["task_reward/mean"] + parts[1]["task_reward/mean"]).value == 0.375
