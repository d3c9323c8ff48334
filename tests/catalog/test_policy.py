"""The definitions a second time, in plain numpy, token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rollscope as rs
from tests.catalog.world import policy_world

WORLD = policy_world(3, 9, 12)
SAMPLED = WORLD["action_mask"]
LOSS = WORLD["mask"] & SAMPLED
FOUND = rs.compute(WORLD)


def on(mask: Any, name: str) -> Any:
    return WORLD[name][mask]


PAIRS = {
    "ref": ("logp", "ref_logp"),
    "update": ("old_logp", "logp"),
    "sampler": ("rollout_logp", "old_logp"),
    "behaviour": ("rollout_logp", "logp"),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_kl_of_tokens_drawn_from_p(pair: str) -> None:
    p, q = (on(SAMPLED, name) for name in PAIRS[pair])
    x = q - p
    expected = {"k1": np.mean(-x), "k2": np.mean(x**2 / 2), "k3": np.mean(np.exp(x) - 1 - x)}
    assert {k: FOUND[f"policy/kl_{pair}_{k}"].value for k in expected} == pytest.approx(expected)
    assert FOUND[f"policy/kl_{pair}_k1"].weight == SAMPLED.sum()


def test_ratio_and_clip() -> None:
    ratio, a = np.exp(on(LOSS, "logp") - on(LOSS, "old_logp")), on(LOSS, "advantages")
    low, high = (ratio < 0.95) & (a < 0), (ratio > 1.1) & (a > 0)
    expected = {
        "policy/ratio/mean": ratio.mean(),
        "policy/ratio/std": ratio.std(ddof=1),
        "policy/ratio/min": ratio.min(),
        "policy/ratio/max": ratio.max(),
        "policy/ratio/outside": np.mean((ratio < 0.95) | (ratio > 1.1)),
        "policy/ratio_gap": np.mean(np.abs(ratio - 1)),
        "policy/ratio_clipped": np.mean(np.clip(ratio, 0.95, 1.1)),
        "policy/clip/low": low.mean(),
        "policy/clip/high": high.mean(),
        "policy/clip/region": (low | high).mean(),
        "policy/clip/dual": np.mean((a < 0) & (ratio > 1.1)),
    }
    assert {name: FOUND[name].value for name in expected} == pytest.approx(expected)


def test_an_advantage_of_zero_is_counted_below_the_line_only() -> None:
    metrics = rs.compute(
        {
            "logp": [[-0.1, -3.0]],
            "old_logp": [[-1.0, -1.0]],
            "advantages": [[0.0, 0.0]],
            "clip_low": 0.2,
            "clip_high": 0.2,
            "clip_c": 2.0,
        }
    )
    assert {
        name: metrics[f"policy/{name}"].value
        for name in ("clip/low", "clip/high", "clip/region", "clip/dual", "ratio/outside")
    } == {
        "clip/low": 0,
        "clip/high": 0,
        "clip/region": 0,
        "clip/dual": 0,
        "ratio/outside": 1,
    }


def surrogate() -> Any:
    ratio, a = np.exp(WORLD["logp"] - WORLD["old_logp"]), WORLD["advantages"]
    loss = np.maximum(-a * ratio, -a * np.clip(ratio, 0.95, 1.1))
    return np.where(LOSS, np.where(a < 0, np.minimum(loss, -a * 1.1), loss), 0.0)


def test_losses_are_named_by_their_aggregation() -> None:
    loss, n = surrogate(), LOSS.sum(1)
    some = n > 0
    expected = {
        "token_mean": loss.sum() / n.sum(),
        "seq_mean_token_mean": np.mean(loss.sum(1)[some] / n[some]),
        "seq_mean_token_sum": loss.sum() / some.sum(),
        "seq_mean_token_sum_norm": loss.sum() / some.sum() / 16,
    }
    assert {name: FOUND[f"policy/loss/{name}"].value for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("level", ["sequence", "sequence_sum"])
def test_sequence_ratios_count_sequences(level: str) -> None:
    metrics = rs.compute(WORLD | {"ratio_level": level})
    x, n = np.where(LOSS, WORLD["logp"] - WORLD["old_logp"], 0.0).sum(1), LOSS.sum(1)
    a = np.where(LOSS, WORLD["advantages"], 0.0).sum(1)
    some = n > 0
    ratio = np.exp(x[some] / (n[some] if level == "sequence" else 1))
    assert metrics["policy/seq_clip/low"].value == pytest.approx(np.mean((ratio < 0.95) & (a[some] < 0)))
    assert metrics["policy/seq_clip/high"].value == pytest.approx(np.mean((ratio > 1.1) & (a[some] > 0)))
    assert metrics["policy/seq_ratio/mean"].value == pytest.approx(np.mean(np.exp(x[some] / n[some])))
    assert not {"policy/clip/low", "policy/clip/region", "policy/loss/token_mean"} & set(metrics)


def test_completions_clipped_least_and_most() -> None:
    ratio, a = np.exp(WORLD["logp"] - WORLD["old_logp"]), WORLD["advantages"]
    n = LOSS.sum(1)
    low = (LOSS & (ratio < 0.95) & (a < 0)).sum(1)[n > 0] / n[n > 0]
    high = (LOSS & (ratio > 1.1) & (a > 0)).sum(1)[n > 0] / n[n > 0]
    assert (FOUND["policy/clip/low_min"].value, FOUND["policy/clip/high_max"].value) == pytest.approx(
        (low.min(), high.max())
    )


def test_whole_sequences_of_kl_and_what_it_costs() -> None:
    gap = np.where(SAMPLED, WORLD["old_logp"] - WORLD["ref_logp"], 0.0).sum(1)[SAMPLED.any(1)]
    score = WORLD["score"][SAMPLED.any(1)]
    assert FOUND["policy/kl_ref_sum"].value == pytest.approx(gap.mean())
    assert FOUND["reward/kl_penalty"].value == pytest.approx(-0.05 * gap.mean())
    assert FOUND["reward/score_with_kl"].value == pytest.approx((score - 0.05 * gap).mean())


def test_the_bias_corrected_kl_is_weighted_by_the_ratio() -> None:
    x = on(LOSS, "ref_logp") - on(LOSS, "logp")
    expected = np.mean(np.exp(on(LOSS, "logp") - on(LOSS, "old_logp")) * (np.exp(x) - 1 - x))
    assert FOUND["policy/kl_ref_k3_weighted"].value == pytest.approx(expected)
    assert rs.rename(FOUND, "trl:grpo@1.16")["kl"] == pytest.approx(expected)
    plain = rs.rename(
        rs.compute({name: value for name, value in WORLD.items() if name != "kl_bias_correction"}), "trl:grpo@1.16"
    )
    assert plain["kl"] == pytest.approx(FOUND["policy/kl_ref_k3"].value)


def test_mismatch_of_engine_and_trainer() -> None:
    old, rollout = on(SAMPLED, "old_logp"), on(SAMPLED, "rollout_logp")
    w = np.exp(old - rollout)
    expected = {
        "mismatch/weight/mean": w.mean(),
        "mismatch/weight_effective": w.sum() ** 2 / (len(w) * np.square(w).sum()),
        "mismatch/chi2_token": np.mean(w**2) - 1,
        "mismatch/probs_diff/mean": np.mean(np.abs(np.exp(old) - np.exp(rollout))),
        "mismatch/probs_diff/std": np.std(np.abs(np.exp(old) - np.exp(rollout)), ddof=1),
        "mismatch/probs_pearson": np.corrcoef(np.exp(old), np.exp(rollout))[0, 1],
        "mismatch/probs_mult_error": np.mean(np.exp(np.abs(old - rollout))),
        "mismatch/kl_reverse": np.mean(1 / w - 1 + (old - rollout)),
        "mismatch/logp_gap/max": np.abs(old - rollout).max(),
        "mismatch/weight_outside": np.mean((w < 0.9) | (w > 1.1)),
        "mismatch/weight_high": np.mean(w > 1.02),
        "mismatch/weight_low": np.mean(w < 1 / 1.02),
        "mismatch/weight_truncated/mean": np.minimum(w, 1.02).mean(),
        "mismatch/rejected_tokens": 1 - LOSS.sum() / SAMPLED.sum(),
    }
    assert {name: FOUND[name].value for name in expected} == pytest.approx(expected)


def test_critic() -> None:
    values, old, targets = (on(LOSS, name) for name in ("values", "old_values", "returns"))
    plain, held = (values - targets) ** 2, (np.clip(values, old - 0.3, old + 0.3) - targets) ** 2
    expected = {
        "critic/loss": np.maximum(plain, held).mean() / 2,
        "critic/clip": np.mean(held > plain),
        "critic/values/mean": old.mean(),
        "critic/predictions/mean": values.mean(),
        "critic/explained_variance": 1 - np.var(targets - old) / np.var(targets),
        "critic/residual_variance": np.var(targets - old) / np.var(targets),
        "advantage/std": on(LOSS, "advantages").std(ddof=1),
    }
    assert {name: FOUND[name].value for name in expected} == pytest.approx(expected)


def test_gradients_at_the_clip() -> None:
    steps = [rs.compute({"grad_norm": norm, "max_grad_norm": 1.0}) for norm in (0.5, 3.0, 2.0, 1.0)]
    merged = {name: steps[0][name] + steps[1][name] + steps[2][name] + steps[3][name] for name in steps[0]}
    assert (
        merged["optimiser/grad_clipped"].value,
        merged["optimiser/grad_norm_max"].value,
        merged["optimiser/grad_norm"].value,
    ) == (0.5, 3.0, 1.625)


def test_one_rare_token_shows_in_one_direction_only() -> None:
    metrics = rs.compute({"old_logp": [[-15.0]], "rollout_logp": [[-5.0]]})
    assert (metrics["policy/kl_sampler_k3"].value, metrics["mismatch/kl_reverse"].value) == (
        pytest.approx(9.0, abs=0.01),
        pytest.approx(22015, abs=1),
    )
