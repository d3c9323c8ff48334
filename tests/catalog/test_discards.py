"""Generated, trained and discarded samples: every sample is counted."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rollscope as rs

BATCH: dict[str, Any] = {
    "reward": [1, 0, 1, 0, 1, 1, 0, 0],
    "completion_tokens": [10, 20, 30, 40, 5, 5, 50, 50],
    "group": list("aaaabbcc"),
    "trained": [1, 1, 1, 1, 0, 0, 0, 0],
    "discard_reason": ["", "", "", None, "zero_advantage", "zero_advantage", "zero_advantage", "max_async"],
    "stop_reason": ["stop"] * 6 + ["length"] * 2,
    "reward_min": 0,
    "reward_max": 1,
    "policy_version_now": 10,
    "policy_version_min": [10, 10, 9, 9, 9, 9, 9, 3],
}


def test_shares_by_reason_count_every_generated_sample() -> None:
    metrics = rs.compute(BATCH)
    assert metrics["discarded/share"].value == 0.5 and metrics["discarded/share"].weight == 8
    assert (
        metrics["discarded/reason/zero_advantage"].value == 3 / 8
        and metrics["discarded/reason/max_async"].value == 1 / 8
    )
    assert (
        metrics["discarded/count"].value == 4
        and metrics["samples/generated"].value == 8
        and metrics["samples/trained"].value == 4
    )


def test_statistics_exist_for_all_for_the_trained_and_for_the_discarded() -> None:
    metrics = rs.compute({**BATCH, "reward": [1, 0, 1, 1, 1, 1, 0, 0]})
    assert metrics["reward/generated/mean"].value == 5 / 8
    assert metrics["reward/trained/mean"].value == 0.75
    assert metrics["discarded/reward/mean"].value == 0.5
    assert "reward/mean" not in metrics
    assert (
        metrics["discarded/length/completion/max"].value == 50 and metrics["length/completion/trained/max"].value == 40
    )
    assert metrics["discarded/length/truncated"].value == 0.5 and metrics["length/truncated/trained"].value == 0


def test_without_fates_neither_word_is_used() -> None:
    metrics = rs.compute({"reward": [1, 0], "group": [0, 0]})
    assert "reward/mean" in metrics and not any(
        "discarded" in name or "/trained" in name or "/generated" in name
        for name in metrics
        if name != "samples/generated"
    )


def test_group_outcomes_count_every_generated_group() -> None:
    assert rs.compute(BATCH)["group/zero_spread"].value == pytest.approx(2 / 3)


def test_a_sample_whose_fate_is_open_is_not_counted_yet() -> None:
    metrics = rs.compute({"reward": [1, 0, 5], "trained": [1, 0, None]})
    assert (
        metrics["reward/generated/mean"].value == 0.5
        and metrics["discarded/share"].value == 0.5
        and metrics["discarded/share"].weight == 2
    )


def test_a_reason_alone_is_enough() -> None:
    metrics = rs.compute({"reward": [1, 0], "discard_reason": ["", "error"]})
    assert metrics["discarded/share"].value == 0.5 and metrics["reward/trained/mean"].value == 1


def test_a_discard_without_a_reason_is_unsaid() -> None:
    assert rs.compute({"reward": [1, 0], "trained": [1, 0]})["discarded/reason/unsaid"].value == 0.5


def test_zero_advantage_splits_into_hopeless_and_solved() -> None:
    metrics = rs.compute(BATCH)
    assert metrics["discarded/zero_advantage/all_zero"].value == pytest.approx(1 / 3)
    assert metrics["discarded/zero_advantage/all_positive"].value == pytest.approx(2 / 3)
    assert metrics["discarded/zero_advantage/reward"].value == pytest.approx(2 / 3)


def test_a_group_at_the_declared_minimum_counts_as_all_zero() -> None:
    batch = {
        "reward": [-1, -1, 1, 1],
        "trained": [0] * 4,
        "discard_reason": ["zero_advantage"] * 4,
        "reward_min": -1,
        "reward_max": 1,
    }
    assert rs.compute(batch)["discarded/zero_advantage/all_zero"].value == 0.5


def test_staleness_of_discarded_samples() -> None:
    metrics = rs.compute(BATCH)
    assert metrics["discarded/staleness/mean"].value == 2.5 and metrics["staleness/max"].value == 7
    assert metrics["staleness_off_policy"].value == 6 / 8 and metrics["staleness_at/1"].value == 5 / 8


def test_telescopes_percentages_have_their_own_denominator() -> None:
    named = rs.rename(rs.compute(BATCH), "telescope")
    assert named["discarded_zero_advantage_pct"] == 75 and named["discarded_max_async_pct"] == 25
    assert named["discarded_zero_advantage_all_zero_pct"] == pytest.approx(100 / 3)
    assert (
        named["discarded_count"] == 4 and named["discarded_reward_sum_mean"] == 0.5 and named["reward_sum_mean"] == 0.5
    )
    assert named["discarded_length_completion_max"] == 50 and named["discarded_stop_reason_length_pct"] == 50


def test_a_reason_never_hides_from_the_sum_over_ranks() -> None:
    rows = [
        dict(zip(("reward", "trained", "discard_reason"), row, strict=True))
        for row in ([1, 1, ""], [0, 0, "zero_advantage"], [0, 0, "max_async"])
    ]
    parts = [rs.compute({k: [v] for k, v in row.items()}) for row in rows]
    merged = parts[0]["discarded/share"] + parts[1]["discarded/share"] + parts[2]["discarded/share"]
    assert merged.value == pytest.approx(2 / 3)
    one = parts[1]["discarded/reason/zero_advantage"]
    assert one.value == 1 and math.isnan(parts[0]["discarded/reward/mean"].value)


def test_a_statistic_stays_at_the_end_of_a_name() -> None:
    metrics = rs.compute(
        {"reward": [1.0, 0.0], "task": ["a", "b"], "trained": [1, 0], "sample_metrics": {"max": [1.0, 2.0]}}
    )
    assert {
        "task_reward/generated/mean",
        "task_reward/trained/mean",
        "discarded/task_reward/mean",
        "sample_metric/max/trained/mean",
    } <= set(metrics)
