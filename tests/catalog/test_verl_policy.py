"""veRL 0.9.1's numbers of one batch come out under its own keys.

The batch has an aborted sample, tool tokens and a log-ratio of 25.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from tests.catalog.not_matched import policy as not_matched

DATA = Path(__file__).parent / "data" / "verl"
ORACLE: dict[str, Any] = json.loads((DATA / "policy_outputs.json").read_text())
with np.load(DATA / "policy_inputs.npz") as _file:
    INPUTS = {name: _file[name] for name in _file.files}

PAIR = {
    "action_mask": INPUTS["response_mask"],
    "old_logp": INPUTS["old_log_probs"],
    "rollout_logp": INPUTS["rollout_log_probs"],
}
UPDATE = {
    "action_mask": INPUTS["response_mask"],
    "logp": INPUTS["log_probs"],
    "old_logp": INPUTS["old_log_probs"],
    "ref_logp": INPUTS["ref_log_prob"],
    "advantages": INPUTS["adv__grpo"],
    "clip_low": 0.2,
    "clip_high": 0.28,
    "clip_c": 3.0,
}
CRITIC = {
    "action_mask": INPUTS["response_mask"],
    "old_values": INPUTS["values"],
    "values": INPUTS["vpreds"],
    "returns": INPUTS["ret__gae"],
    "advantages": INPUTS["adv__gae"],
    "value_clip": 0.2,
}


def in_verl(batch: dict[str, Any]) -> dict[str, float]:
    named: dict[str, float] = rs.rename(rs.compute(batch), "verl@0.9")
    return named


def check(batch: dict[str, Any], oracle: dict[str, float], reasons: dict[str, str] | None = None) -> None:
    """Assert that every key of the oracle has its number, or is left out for a listed reason."""
    named, reasons = in_verl(batch), reasons or {}
    wrong = {}
    for key, value in oracle.items():
        if key in reasons:
            assert key not in named, f"{key} is listed as not matched and is written"
        elif key not in named or named[key] != pytest.approx(value, rel=1e-5, abs=1e-5):
            wrong[key] = (named.get(key), value)
    assert not wrong


LEFT_OUT = {"clip_cov": not_matched.VERL_CLIP_COV, "kl_cov": not_matched.VERL_KL_COV}


@pytest.mark.parametrize("case", ORACLE["policy_loss"])
def test_every_policy_loss_and_its_metrics(case: str) -> None:
    mode, agg = case.split("/")
    check(UPDATE | {"loss_mode": mode, "loss_agg": agg}, ORACLE["policy_loss"][case], LEFT_OUT.get(mode))


def test_the_defaults_are_vanilla_and_token_mean() -> None:
    check(UPDATE, ORACLE["policy_loss"]["vanilla/token-mean"])


def test_mismatch_of_probabilities() -> None:
    check(PAIR, ORACLE["calculate_debug_metrics"], not_matched.VERL)


def test_off_policy_metrics() -> None:
    check(PAIR, {f"rollout_corr/{key}": value for key, value in ORACLE["offpolicy_metrics"].items()})


@pytest.mark.parametrize("case", ORACLE["rollout_correction"])
def test_rollout_correction(case: str) -> None:
    weights, option, threshold = (part.split("=")[1] for part in case.split(","))
    batch: dict[str, Any] = dict(PAIR)
    if weights != "None":
        batch |= {"is_level": weights, "is_cap": 1.05}
    if option != "None":
        *low, high = map(float, threshold.split("_"))
        batch |= {"rs_option": option, "rs_high": high} | ({"rs_low": low[0]} if low else {})
    oracle = {key: value for key, value in ORACLE["rollout_correction"][case].items() if not key.startswith("_")}
    check(batch, oracle)


def test_critic_data_and_value_loss() -> None:
    check(CRITIC, ORACLE["critic_data"] | ORACLE["value_loss"])


def test_returns_and_advantages_without_a_critic() -> None:
    check(
        {"action_mask": INPUTS["response_mask"], "advantages": INPUTS["adv__grpo"], "returns": INPUTS["ret__grpo"]},
        ORACLE["critic_data_grpo"],
    )


@pytest.mark.parametrize("word", ORACLE["kl_penalty_masked_mean"] | ORACLE["kl_penalty_plus_variants"])
def test_the_kl_loss_of_every_type(word: str) -> None:
    value = (ORACLE["kl_penalty_masked_mean"] | ORACLE["kl_penalty_plus_variants"])[word]
    batch = {
        "action_mask": INPUTS["response_mask"],
        "logp": INPUTS["log_probs"],
        "ref_logp": INPUTS["ref_log_prob"],
        "kl_loss_type": word,
    }
    check(batch, {"actor/kl_loss": value})


@pytest.mark.parametrize("word", ORACLE["apply_kl_penalty"])
def test_the_kl_in_the_reward(word: str) -> None:
    batch = {
        "action_mask": INPUTS["response_mask"],
        "old_logp": INPUTS["old_log_probs"],
        "ref_logp": INPUTS["ref_log_prob"],
        "kl_penalty": word,
        "kl_coef": 0.05,
    }
    check(batch, {key: value for key, value in ORACLE["apply_kl_penalty"][word].items() if key.startswith("actor/")})


@pytest.mark.parametrize("how", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"])
def test_entropy_under_every_aggregation(how: str) -> None:
    batch = {"action_mask": INPUTS["response_mask"], "logits": INPUTS["logits"], "loss_agg": how, "loss_scale": 12.0}
    check(batch, {"actor/entropy": ORACLE["agg_loss_entropy"][how]})


def test_entropy_itself_is_a_token_mean_under_every_aggregation() -> None:
    for how in ("token-mean", "seq-mean-token-sum"):
        computed = rs.compute({"action_mask": INPUTS["response_mask"], "logits": INPUTS["logits"], "loss_agg": how})
        assert computed["policy/entropy"].value == pytest.approx(ORACLE["agg_loss_entropy"]["token-mean"], rel=1e-5)


def test_masked_mean_and_spread() -> None:
    metrics = rs.compute({"action_mask": INPUTS["response_mask"], "logp": INPUTS["old_log_probs"]})
    assert metrics["policy/logp/mean"].value == pytest.approx(ORACLE["masked"]["mean"], rel=1e-5)
    assert metrics["policy/logp/std"].value ** 2 == pytest.approx(ORACLE["masked"]["var_unbiased"], rel=1e-5)


def test_variance_proxies() -> None:
    batch = {
        "action_mask": INPUTS["response_mask"],
        "old_logp": INPUTS["old_log_probs"],
        "sum_pi_squared": INPUTS["sum_pi_squared"],
        "advantages": INPUTS["adv__gae"],
        "grad_norm": 0.75,
    }
    check(batch, ORACLE["compute_variance_proxy_metrics"])


def test_ours_does_not_clamp_and_theirs_is_still_found_by_its_name() -> None:
    computed = rs.compute(UPDATE)
    assert computed["policy/kl_update_k1"].value == pytest.approx(-0.1780766, abs=1e-6)
    assert rs.explain("actor/ppo_kl", "verl").name == "policy/kl_update_k1"


def test_a_loss_whose_constant_is_not_known_is_not_written_as_another() -> None:
    for how in ("seq-mean-token-sum-norm", "token-sum"):
        named, why = rs.rename(rs.compute(UPDATE | {"loss_agg": how}), "verl", missing=True)
        assert "actor/pg_loss" not in named and "no data" in why["actor/pg_loss"]
    limit = rs.rename(
        rs.compute(UPDATE | {"loss_agg": "seq-mean-token-sum-norm", "max_completion_tokens": 12}), "verl"
    )["actor/pg_loss"]
    assert limit == pytest.approx(rs.compute(UPDATE)["policy/loss/seq_mean_token_sum"].value / 12)


def test_a_loss_on_sequence_ratios_is_gspo() -> None:
    check(UPDATE | {"ratio_level": "sequence"}, ORACLE["policy_loss"]["gspo/token-mean"])
