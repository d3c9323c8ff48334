"""The log of RLinf 0.4's actor loss, recomputed, and the cases where its number is no fraction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from tests.catalog.not_matched import policy as not_matched

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "rlinf" / "policy.json").read_text())
LOG_RATIO = np.array(ORACLE["3_actor"]["log_ratio"])
ACTOR = {
    "logp": LOG_RATIO - 1,
    "old_logp": np.full((1, 4), -1.0),
    "mask": np.ones((1, 4)),
    "clip_low": 0.2,
    "clip_high": 0.2,
    "clip_c": 3.0,
}


def in_rlinf(batch: dict[str, Any]) -> dict[str, float]:
    named: dict[str, float] = rs.rename(rs.compute(batch), "rlinf")
    return named


@pytest.mark.parametrize(("case", "sign"), [("3_actor", 1), ("3_actor_flipped_adv", -1), ("3_dual_clip", 1)])
def test_actor_metrics(case: str, sign: int) -> None:
    oracle = ORACLE[case].get("metrics", ORACLE[case])
    named = in_rlinf(ACTOR | {"advantages": sign * np.array([[1.0, 1.0, -1.0, -1.0]])})
    assert {key: named[f"train/{key}"] for key in oracle} == {
        key: pytest.approx(value, abs=1e-5) for key, value in oracle.items()
    }


def test_token_level_fractions_stay_fractions() -> None:
    """RLinf logs a clip fraction of 7.0 for seven action dimensions; ours counts a token once."""
    ours = rs.compute(
        {
            "logp": np.full((4, 35), -0.7),
            "old_logp": np.full((4, 35), -1.0),
            "advantages": np.ones(4),
            "mask": np.ones((4, 35)),
            "clip_low": 0.2,
            "clip_high": 0.2,
        }
    )
    theirs = ORACLE["policy_loss"]["reward_type=action_level logprob_type=token_level"]
    assert (theirs["actor/clip_fraction"], ours["policy/clip/region"].value) == (7.0, 1.0)
    assert ours["policy/kl_update_k1"].value == pytest.approx(theirs["actor/approx_kl"] / 7)
    assert ours["policy/ratio/mean"].value == pytest.approx(theirs["actor/ratio"], abs=1e-4)
    assert ours["policy/ratio_clipped"].value == pytest.approx(theirs["actor/clipped_ratio"], abs=1e-5)


def test_explained_variance_is_pooled_and_blind_to_bias() -> None:
    rng = np.random.default_rng(0)
    returns, values = rng.normal(size=(8, 5)), rng.normal(size=(8, 5))
    values = returns + 0.4 * values
    whole = rs.compute({"returns": returns, "old_values": values})["critic/explained_variance"]
    parts = [
        rs.compute({"returns": returns[i : i + 4], "old_values": values[i : i + 4]})["critic/explained_variance"]
        for i in (0, 4)
    ]
    assert (
        (parts[0] + parts[1]).value
        == pytest.approx(whole.value)
        == pytest.approx(1 - np.var(returns - values) / np.var(returns))
    )
    assert rs.compute({"returns": returns, "old_values": returns + 10})[
        "critic/explained_variance"
    ].value == pytest.approx(ORACLE["2_explained_variance"]["constant bias +10 (EV ignores bias)"])


@pytest.mark.parametrize("returns", [[[2.0, 2.0, 2.0]], [[2.0]]], ids=["constant", "one token"])
def test_explained_variance_of_returns_that_do_not_vary_is_nan(returns: list[list[float]]) -> None:
    assert np.isnan(
        rs.compute({"returns": returns, "old_values": [[1.0, 2.0, 3.0][: len(returns[0])]]})[
            "critic/explained_variance"
        ].value
    )


def test_advantages_and_returns_are_pooled_over_ranks() -> None:
    ranks = [
        {"advantages": [[-1.0, -2.0, -1.0]], "mask": [[1, 1, 1]]},
        {"advantages": [[2.0, 0.0, 99.0]], "mask": [[1, 1, 0]]},
    ]
    merged = [rs.compute(rank) for rank in ranks]
    named = rs.rename({name: merged[0][name] + merged[1][name] for name in merged[0]}, "rlinf")
    assert (named["rollout/advantages_mean"], named["rollout/advantages_max"], named["rollout/advantages_min"]) == (
        pytest.approx(-0.4),
        2.0,
        -2.0,
    )


def test_keys_that_are_not_matched_are_never_written() -> None:
    rng = np.random.default_rng(1)
    tokens = {
        name: rng.normal(size=(3, 6))
        for name in ("logp", "old_logp", "ref_logp", "rollout_logp", "advantages", "values", "old_values", "returns")
    }
    batch = tokens | {
        "mask": np.ones((3, 6)),
        "clip_low": 0.2,
        "clip_high": 0.2,
        "clip_c": 3.0,
        "value_clip": 0.2,
        "is_cap": 2.0,
        "loss": 0.3,
    }
    assert not set(not_matched.RLINF) & set(in_rlinf(batch))
    for dialect, reasons in (
        ("trl:ppo", not_matched.TRL_PPO),
        ("trinity", not_matched.TRINITY),
        ("openrlhf", not_matched.OPENRLHF),
        ("telescope", not_matched.TELESCOPE),
    ):
        assert not set(reasons) & set(rs.rename(rs.compute(batch), dialect)), dialect


@pytest.mark.parametrize("framework", ["RLINF", "TRL_PPO", "TRINITY", "OPENRLHF", "TELESCOPE"])
def test_the_reason_is_in_the_entry(framework: str) -> None:
    dialect = {"TRL_PPO": "trl:ppo"}.get(framework, framework.lower())
    for key in getattr(not_matched, framework):
        match = rs.explain(key, dialect)
        assert not match.same and match.via is not None and match.via.note, key
