"""Turns, tools, times, staleness, the data pipeline, filters and counters."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import rollscope as rs
from rollscope.catalog.partials.at_max import AtMax
from rollscope.errors import BadBatch


def value(name: str, **batch: Any) -> float:
    return rs.compute(batch)[name].value


def test_calls_failures_and_turns() -> None:
    metrics = rs.compute(
        {"turns": [1, 3, 2], "tool_calls": [0, 4, 2], "tool_failures": [0, 2, 1], "tool_seconds": [0.0, 6.0, 3.0]}
    )
    expected = {
        "turns/mean": 2,
        "turns/total": 6,
        "tool/calls/mean": 2,
        "tool/calls_total": 6,
        "tool/failure_share": 0.5,
        "tool/used_share": pytest.approx(2 / 3),
        "tool/calls_per_turn": 1,
        "tool/seconds_per_call": 1.5,
    }
    assert {name: metrics[name].value for name in expected} == expected


def test_no_call_is_no_failure_rate() -> None:
    assert math.isnan(value("tool/failure_share", tool_calls=[0, 0], tool_failures=[0, 0]))


def test_tools_by_name() -> None:
    tools = {"search": {"calls": [1, 2], "failures": [0, 2], "seconds": [1.0, 5.0]}, "code": {"calls": [0, 1]}}
    metrics = rs.compute({"tools": tools})
    assert metrics["tool/by_name/search/calls"].value == 3 and metrics[
        "tool/by_name/search/failure_share"
    ].value == pytest.approx(2 / 3)
    assert metrics["tool/by_name/search/seconds_per_call"].value == 2 and "tool/by_name/code/failures" not in metrics
    assert metrics["tool/kinds_used/mean"].value == 1.5
    named = rs.rename(metrics, "trl:async_grpo")
    assert named["tools/search/call_total"] == 3 and named["tools/search/latency_s"] == 2


def test_trls_tool_frequencies() -> None:
    named = rs.rename(rs.compute({"tool_calls": [1, 3], "tool_failures": [1, 0]}), "trl:grpo")
    assert named["tools/call_frequency"] == 2 and named["tools/failure_frequency"] == 0.25


def test_agents_of_rlinf() -> None:
    named = rs.rename(rs.compute({"turns": [1, 3], "tool_calls": [1, 3], "reward": [1, math.nan]}), "rlinf")
    assert (
        named["agent/sum/turn_count"] == 4
        and named["agent/mean/turn_count_per_rollout"] == 2
        and named["agent/mean/tool_calls_per_turn"] == 1
    )
    assert (
        named["agent/count/n_rollouts"] == 2
        and named["agent/count/n_rollouts_w_reward"] == 1
        and named["agent/mean/reward"] == 1
    )


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_slowest_is_the_slowest_in_any_order(order: tuple[int, ...]) -> None:
    parts = [AtMax.of([1.0, 5.0], [10, 20]), AtMax.of([5.0], [30]), AtMax.of([], [])]
    assert (parts[order[0]] + parts[order[1]] + parts[order[2]]).value == 30


def test_out_of_turns() -> None:
    assert value("turns/exhausted", stop_reason=["stop", "max_turns", "stop", "length"]) == 0.25


def test_on_policy_is_zero() -> None:
    metrics = rs.compute({"policy_version_now": 5, "policy_version_min": [5, 5, 3], "policy_version_max": [5, 5, 4]})
    assert (
        metrics["staleness/min"].value == 0
        and metrics["staleness/max"].value == 2
        and metrics["version_span/max"].value == 2
    )
    assert metrics["sampling/model_version/mean"].value == pytest.approx(13 / 3)
    named = rs.rename(metrics, "trinity")
    assert named["sample/model_version/max"] == 5 and named["sample/model_version/min"] == 3


def test_distinct_tasks_are_counted_once_over_ranks() -> None:
    parts = [rs.compute({"task": tasks}) for tasks in (["a", "a", "b"], ["b", "c"])]
    merged = {name: parts[0][name] + parts[1][name] for name in parts[0]}
    assert rs.rename(merged, "trinity")["sample/task_count"] == 3


OPERATORS = [
    {"name": "reward_filter", "in": 64, "out": 60, "seconds": 0.1},
    {"name": "grpo", "in": 60, "out": 48, "seconds": 0.4, "metrics": {"skipped_group_ratio": 0.25}},
]


def test_the_pipeline_says_what_each_operator_took_out() -> None:
    metrics = rs.compute({"operators": OPERATORS})
    expected = {
        "pipeline/in": 64,
        "pipeline/out": 48,
        "pipeline/filtered": 16,
        "pipeline/dropped_share": 0.25,
        "pipeline/seconds": 0.5,
        "pipeline/operator/1_grpo/filtered": 12,
        "pipeline/operator/1_grpo/kept_share": 0.8,
        "pipeline/operator_metric/skipped_group_ratio": 0.25,
    }
    assert {name: metrics[name].value for name in expected} == expected
    named, why = rs.rename(metrics, "trinity", missing=True)
    assert (
        named["experience_pipeline/experience_count"] == 48 and named["experience_pipeline/skipped_group_ratio"] == 0.25
    )
    assert named["time/experience_pipeline/operator/1_grpo"] == 0.4
    assert (
        "experience_pipeline/filtered_count" not in named and "last filter" in why["experience_pipeline/filtered_count"]
    )


def test_an_operator_without_a_name_is_an_error_that_says_what_one_is() -> None:
    with pytest.raises(BadBatch, match=r"operators\[0\].*such as"):
        rs.compute({"operators": [{"in": 3}]})


def test_filters_under_telescopes_names() -> None:
    named = rs.rename(rs.compute({"filters": {"overlong": [0, 1, 0, 0], "repetition": [None, 1, 1, 0]}}), "telescope")
    assert named["filter/overlong_frac"] == 0.25 and named["filter/repetition_frac"] == pytest.approx(2 / 3)


def test_counters_go_on_and_parts_of_a_step_add() -> None:
    parts = [
        rs.compute(
            {
                "prompt_tokens": [10],
                "completion_tokens": [n],
                "tokens_before": 100,
                "episodes_before": 4,
                "samples_before": 5,
            }
        )
        for n in (5, 0)
    ]
    tokens = parts[0]["counter/tokens"] + parts[1]["counter/tokens"]
    assert tokens.value == 125 and (parts[0]["counter/episodes"] + parts[1]["counter/episodes"]).value == 5
    assert (parts[0]["counter/samples"] + parts[1]["counter/samples"]).value == 7
