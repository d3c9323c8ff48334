"""Preference learning and reward models: definitions, TRL's names, and what TRL's logs satisfy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs

TRL = Path(__file__).parent / "data" / "trl"
PAIRS = {
    "chosen_logp": [-38.0, -30.0, -12.5],
    "rejected_logp": [-34.0, -31.0, -12.5],
    "ref_chosen_logp": [-40.0, -30.0, -12.0],
    "ref_rejected_logp": [-30.0, -31.0, -13.0],
    "beta": 0.1,
}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(x)))


def test_dpo_under_trls_names() -> None:
    named = rs.rename(rs.compute(PAIRS), "trl:dpo")
    chosen, rejected = np.array([0.2, 0.0, -0.05]), np.array([-0.4, 0.0, 0.05])
    assert named["rewards/chosen"] == pytest.approx(chosen.mean())
    assert named["rewards/rejected"] == pytest.approx(rejected.mean())
    assert named["rewards/margins"] == pytest.approx((chosen - rejected).mean())
    assert named["rewards/accuracies"] == pytest.approx(1 / 3)  # the tie in the middle is not a success
    assert named["logps/chosen"] == pytest.approx(np.mean(PAIRS["chosen_logp"]))


def test_the_dpo_loss_and_its_label_smoothing() -> None:
    margin = np.array([0.6, 0.0, -0.1])
    plain = rs.compute(PAIRS)["preference/loss"].value
    assert plain == pytest.approx(-np.log(sigmoid(margin)).mean())
    smooth = rs.compute({**PAIRS, "label_smoothing": 0.1})["preference/loss"].value
    assert smooth == pytest.approx((-0.9 * np.log(sigmoid(margin)) - 0.1 * np.log(sigmoid(-margin))).mean())


def test_before_the_first_update_every_pair_is_a_tie() -> None:
    same = {
        "chosen_logp": [-3.0, -4.0],
        "rejected_logp": [-5.0, -2.0],
        "ref_chosen_logp": [-3.0, -4.0],
        "ref_rejected_logp": [-5.0, -2.0],
        "beta": 0.1,
    }
    metrics = rs.compute(same)
    assert metrics["preference/accuracy"].value == 0.0 and metrics["preference/ties"].value == 1.0
    assert metrics["preference/loss"].value == pytest.approx(math.log(2))


def test_losses_do_not_overflow() -> None:
    metrics = rs.compute(
        {
            "chosen_logp": [-1e6],
            "rejected_logp": [0.0],
            "ref_chosen_logp": [0.0],
            "ref_rejected_logp": [0.0],
            "beta": 1.0,
        }
    )
    assert metrics["preference/loss"].value == pytest.approx(1e6)


def test_without_a_reference_there_are_only_reference_free_rewards() -> None:
    metrics = rs.compute({"chosen_logp": [-36.0], "rejected_logp": [-41.0], "beta": 0.1})
    assert metrics["preference/free/margin/mean"].value == pytest.approx(0.5)
    assert "preference/margin/mean" not in metrics


def test_simpo_and_orpo_work_per_token() -> None:
    metrics = rs.compute(
        {
            "chosen_logp": [-5.0],
            "rejected_logp": [-16.0],
            "chosen_tokens": [10],
            "rejected_tokens": [20],
            "beta": 2.0,
            "gamma": 0.5,
        }
    )
    assert metrics["preference/simpo/margin/mean"].value == pytest.approx(2 * (-0.5 + 0.8))
    assert metrics["preference/simpo/loss"].value == pytest.approx(-math.log(sigmoid(0.6 - 0.5)))
    p, q = math.exp(-0.5), math.exp(-0.8)
    odds = math.log(p / (1 - p)) - math.log(q / (1 - q))
    named = rs.rename(metrics, "trl:orpo")
    assert named["log_odds_chosen"] == pytest.approx(odds) and named["log_odds_ratio"] == pytest.approx(
        math.log(sigmoid(odds))
    )


def test_parts_merge_to_the_whole() -> None:
    whole = rs.compute(PAIRS)
    a, b = ({k: v[s] if isinstance(v, list) else v for k, v in PAIRS.items()} for s in (slice(0, 1), slice(1, 3)))
    for name, partial in whole.items():
        assert (rs.compute(a)[name] + rs.compute(b)[name]).value == pytest.approx(partial.value, nan_ok=True), name


def test_reward_model_under_trls_and_openrlhfs_names() -> None:
    metrics = rs.compute({"chosen_score": [1.0, 0.1, 2.0], "rejected_score": [0.2, 0.4, 2.0]})
    named = rs.rename(metrics, "trl:reward")
    assert named == {
        "accuracy": pytest.approx(1 / 3),
        "margin": pytest.approx(0.5 / 3),
        "mean_reward": pytest.approx(5.7 / 6),
        "min_reward": pytest.approx(0.1),
        "max_reward": pytest.approx(2.0),
    }
    assert rs.rename(metrics, "openrlhf:rm")["acc"] == pytest.approx(1 / 3)
    assert metrics["reward_model/loss"].value == pytest.approx(-np.log(sigmoid([0.8, -0.3, 0.0])).mean())
    assert (
        rs.compute({"chosen_score": [1.0], "rejected_score": [0.0], "grad_norm": 2.5})["reward_model/grad_norm"].value
        == 2.5
    )


def test_a_margin_in_the_data_changes_only_the_loss() -> None:
    scores = {"chosen_score": [1.0], "rejected_score": [0.0]}
    with_margin = rs.compute({**scores, "score_margin": [1.0]})
    assert with_margin["reward_model/loss"].value == pytest.approx(math.log(2))
    assert with_margin["reward_model/margin/mean"].value == 1.0


# what TRL logged in a real run, recomputed as far as the log allows


def logged(run: str) -> list[dict[str, Any]]:
    return json.loads((TRL / f"{run}.json").read_text())


@pytest.mark.parametrize("row", [r for r in logged("dpo") if "rewards/margins" in r], ids=lambda r: f"step {r['step']}")
def test_trls_dpo_log_agrees_with_the_definitions(row: dict[str, Any]) -> None:
    """One pair with the logged means gives every linear number.

    It bounds the loss from below, because the loss is convex.
    """
    beta = 0.1
    pair = {
        "chosen_logp": [row["logps/chosen"]],
        "rejected_logp": [row["logps/rejected"]],
        "ref_chosen_logp": [row["logps/chosen"] - row["rewards/chosen"] / beta],
        "ref_rejected_logp": [row["logps/rejected"] - row["rewards/rejected"] / beta],
        "beta": beta,
    }
    metrics = rs.compute(pair)
    named = rs.rename(metrics, "trl:dpo")
    for key in ("rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen", "logps/rejected"):
        assert named[key] == pytest.approx(row[key], abs=1e-5), key
    if "loss" in row:
        assert metrics["preference/loss"].value <= row["loss"] + 1e-5


def test_trls_first_dpo_step_is_all_ties() -> None:
    first = logged("dpo")[0]
    assert first["rewards/accuracies"] == 0.0 and first["loss"] == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize("row", [r for r in logged("reward") if "margin" in r], ids=lambda r: f"step {r['step']}")
def test_trls_reward_log_agrees_with_the_definitions(row: dict[str, Any]) -> None:
    pair = {
        "chosen_score": [row["mean_reward"] + row["margin"] / 2],
        "rejected_score": [row["mean_reward"] - row["margin"] / 2],
    }
    metrics = rs.compute(pair)
    named = rs.rename(metrics, "trl:reward")
    assert named["margin"] == pytest.approx(row["margin"], abs=1e-5) and named["mean_reward"] == pytest.approx(
        row["mean_reward"], abs=1e-5
    )
    assert (
        metrics["reward_model/loss"].value <= row["loss"] + 1e-5
        and row["min_reward"] <= row["mean_reward"] <= row["max_reward"]
    )
