"""Lengths and limits: which samples are cut, ended or empty."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rollscope as rs


def value(name: str, **batch: Any) -> float:
    return rs.compute(batch)[name].value


@pytest.mark.parametrize(
    "batch, expected",
    [
        pytest.param({"stop_reason": ["stop", "length", "stop", "tool"]}, 0.25, id="by stop reason"),
        pytest.param(
            {"completion_tokens": [5, 8, 8, 1], "max_completion_tokens": 8},
            0.5,
            id="without stop reasons, at the limit",
        ),
        pytest.param(
            {"completion_tokens": [5, 8, 8, 1], "max_completion_tokens": 8, "stop_reason": ["stop"] * 4},
            0.0,
            id="an end at the limit is an end",
        ),
        pytest.param(
            {
                "completion_tokens": [5, 8, 2, 1],
                "max_completion_tokens": 8,
                "stop_reason": ["stop", None, None, "length"],
            },
            0.5,
            id="the limit where a reason is missing",
        ),
        pytest.param(
            {"completion_tokens": [5, 8], "max_completion_tokens": [5, 9]}, 0.5, id="a limit of each sample's own"
        ),
        pytest.param({"stop_reason": [["length", "stop"], ["tool", "stop"]]}, 0.5, id="any generation of the sample"),
        pytest.param({"stop_reason": ["stop", ["tool", "length"]]}, 0.5, id="words and lists of words"),
    ],
)
def test_truncated(batch: dict[str, Any], expected: float) -> None:
    assert value("length/truncated", **batch) == expected


def test_the_padded_width_never_makes_a_sample_truncated() -> None:
    metrics = rs.compute({"action_mask": np.ones((2, 4)), "valid_mask": np.ones((2, 4))})
    assert "length/truncated" not in metrics and metrics["length/response/max"].value == 4


@pytest.mark.parametrize(
    "batch, expected",
    [
        pytest.param(
            {"terminated": [1, 0, 1, 1], "stop_reason": ["length"] * 4}, 0.25, id="terminated is believed first"
        ),
        pytest.param({"stop_reason": ["stop", "length", "max_turns", "eos"]}, 0.5, id="then stop reasons"),
        pytest.param({"completion_tokens": [3, 8], "max_completion_tokens": 8}, 0.5, id="then the limit"),
        pytest.param({"terminated": [1, None, 0]}, 0.5, id="unknown ends are not counted"),
    ],
)
def test_not_ended(batch: dict[str, Any], expected: float) -> None:
    assert value("length/not_ended", **batch) == expected and value("length/ended", **batch) == 1 - expected


def test_without_limits_and_stop_reasons_no_end_is_reported() -> None:
    metrics = rs.compute({"completion_tokens": [3, 8]})
    assert not {"length/truncated", "length/not_ended", "length/ended", "length/terminated/mean"} & set(metrics)


def test_lengths_of_ended_samples_are_no_data_when_none_ended() -> None:
    assert math.isnan(value("length/terminated/mean", completion_tokens=[8, 8], terminated=[0, 0]))
    assert value("length/terminated/mean", completion_tokens=[3, 5, 8, 0], terminated=[1, 1, 0, 1]) == 4


def test_completion_is_what_the_policy_wrote_and_response_everything_after_the_prompt() -> None:
    metrics = rs.compute(
        {
            "prompt_tokens": [2, 4],
            "action_mask": np.array([[1, 0, 1], [1, 0, 0]]),
            "valid_mask": np.array([[1, 1, 1], [1, 1, 0]]),
        }
    )
    assert metrics["length/completion/mean"].value == 1.5 and metrics["length/response/mean"].value == 2.5
    assert metrics["length/total/mean"].value == 5.5 and metrics["length/response_variance"].value == 0.5
    assert value("length/total/mean", prompt_tokens=[2, 4], completion_tokens=[1, 1]) == 4


def test_empty_answers_are_in_the_length_and_beside_it_without() -> None:
    metrics = rs.compute({"response_tokens": [0, 10, 20], "completion_tokens": [0, 10, 20]})
    assert metrics["length/response/mean"].value == 10 and metrics["length/response_non_aborted/mean"].value == 15
    assert metrics["length/aborted"].value == pytest.approx(1 / 3)


def test_limits_of_prompt_and_total() -> None:
    assert value("length/prompt_at_limit", prompt_tokens=[512, 100, 512], max_prompt_tokens=512) == pytest.approx(2 / 3)
    assert (
        value("length/total_at_limit", prompt_tokens=[100, 10], response_tokens=[900, 10], max_total_tokens=1000) == 0.5
    )


def test_stop_reasons_share_all_samples() -> None:
    metrics = rs.compute({"stop_reason": ["stop", "length", "stop", "error", "weird", None]})
    shares = {name.removeprefix("stop/"): part.value for name, part in metrics.items() if name.startswith("stop/")}
    assert shares["stop"] == pytest.approx(2 / 6) and shares["weird"] == shares["unsaid"] == pytest.approx(1 / 6)
    assert shares["cancelled"] == 0 and sum(shares.values()) == pytest.approx(1)


def test_percent_and_share_are_the_same_number() -> None:
    named = rs.rename(rs.compute({"stop_reason": ["stop", "length", "stop", "stop"]}), "telescope")
    assert named["stop_reason_length_pct"] == 25
    assert rs.rename(rs.compute({"stop_reason": ["stop", "length", "stop", "stop"]}), "openrlhf")["truncated"] == 0.25


def test_openrlhf_and_rlinf_read_their_lengths() -> None:
    metrics = rs.compute(
        {"prompt_tokens": [2, 4], "response_tokens": [10, 20], "completion_tokens": [10, 20], "terminated": [1, 0]}
    )
    named = rs.rename(metrics, "openrlhf")
    assert (
        named["response_length"],
        named["total_length"],
        named["rollout/response_length_mean"],
        named["rollout/num_samples"],
    ) == (15, 18, 15, 2)
    named = rs.rename(metrics, "rlinf")
    assert (
        named["rollout/variance_of_response_length"] == 50
        and named["rollout/fraction_of_samples_properly_ended"] == 0.5
    )
    assert (
        named["rollout/total_num_sequence"],
        named["rollout/max_of_response_length"],
        named["rollout/prompt_length"],
    ) == (2, 20, 3)
