"""Advantages and losses agree with veRL 0.9.1 on the same batch, and keep their identities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rollscope.trainer.algorithms import advantages, losses  # noqa: E402

DATA = Path(__file__).parent / "data"
BATCH = {k: torch.tensor(v) for k, v in np.load(DATA / "verl_batch.npz").items() if v.dtype.kind in "fi"}
VERL = {k: torch.tensor(v) for k, v in np.load(DATA / "verl_advantages.npz").items()}
GROUP = [str(g) for g in np.load(DATA / "verl_batch.npz")["uid"]]
MASK = BATCH["response_mask"].float()
SCORE = BATCH["token_level_scores"].sum(-1)
REWARDS = VERL["token_level_rewards__kl"]  # scores - 0.05 k1


def close(ours, theirs) -> None:
    assert torch.max(torch.abs(ours - theirs)).item() < 1e-5


@pytest.mark.parametrize("ours, theirs", [("grpo", "grpo"), ("dr_grpo", "grpo_nostd"), ("rloo", "rloo")])
def test_group_advantages_agree_with_verl(ours, theirs):
    close(advantages.SAMPLE_LEVEL[ours](SCORE, GROUP)[:, None] * MASK, VERL[f"adv__{theirs}"])


def test_generalised_advantages_agree_with_verl():
    whitened, returns = advantages.gae(REWARDS, BATCH["values"], MASK, gamma=0.99, lam=0.95)
    close(whitened * MASK, VERL["adv__gae"] * MASK)
    close(returns * MASK, VERL["ret__gae"] * MASK)


def test_reinforce_pp_agrees_with_verl():
    whitened, returns = advantages.reinforce_pp(BATCH["token_level_scores"], MASK, gamma=0.99)
    close(returns * MASK, VERL["ret__reinforce_plus_plus"] * MASK)
    close(whitened, VERL["adv__reinforce_plus_plus"])


def test_reinforce_pp_with_a_group_baseline_agrees_with_verl():
    close(advantages.reinforce_pp_baseline(SCORE, GROUP, MASK), VERL["adv__reinforce_plus_plus_baseline"])


@pytest.mark.parametrize(
    "estimator, verl", [("k1", 0.1980455070734024), ("k2", 2.578514575958252), ("k3", 0.11236479878425598)]
)
def test_kl_penalties_agree_with_verl(estimator, verl):
    penalty = losses.kl_penalty(BATCH["log_probs"], BATCH["ref_log_prob"], estimator)
    assert advantages.masked_mean(penalty, MASK).item() == pytest.approx(verl, abs=1e-5)


@pytest.mark.parametrize("estimator, verl", [("k1", "kl"), ("k2", "mse"), ("k3", "low_var_kl")])
def test_kl_in_the_reward_agrees_with_verl(estimator, verl):
    penalty = losses.kl_penalty(BATCH["old_log_probs"], BATCH["ref_log_prob"], estimator)
    close(BATCH["token_level_scores"] - 0.05 * penalty * MASK, VERL[f"token_level_rewards__{verl}"])


@pytest.mark.parametrize(
    "level, how, verl",
    [
        ("token", "token_mean", -0.17677362263202667),
        ("token", "seq_mean_token_mean", -0.09746437519788742),
        ("sequence", "token_mean", -0.20751728117465973),
        ("sequence", "seq_mean_token_mean", -0.11965273320674896),
    ],
)
def test_the_clipped_loss_agrees_with_verl(level, how, verl):
    x = losses.log_ratio(BATCH["log_probs"], BATCH["old_log_probs"], level, MASK)
    clip_c = 3.0 if level == "token" else None  # GSPO has no dual clip
    loss = losses.clipped_policy_loss(x, VERL["adv__grpo"], clip_low=0.2, clip_high=0.28, clip_c=clip_c)
    assert losses.aggregate(loss, MASK, how).item() == pytest.approx(verl, abs=1e-5)


@pytest.mark.parametrize(
    "how, verl",
    [
        ("token_mean", 3.0244061946868896),
        ("seq_mean_token_mean", 3.0193746089935303),
        ("seq_mean_token_sum", 24.800127029418945),
        ("seq_mean_token_sum_norm", 2.0666773319244385),
    ],
)
def test_aggregation_agrees_with_verl(how, verl):
    assert losses.aggregate(VERL["entropy_from_logits"], MASK, how).item() == pytest.approx(verl, abs=1e-5)


def test_the_value_loss_agrees_with_verl():
    loss = losses.value_loss(BATCH["vpreds"], BATCH["values"], VERL["ret__gae"], MASK, clip=0.2)
    assert loss.item() == pytest.approx(0.23646272718906403, abs=1e-5)


def test_the_dual_clip_bounds_the_loss_of_one_bad_token():
    x, bad = torch.tensor([[5.0]]), torch.tensor([[-1.0]])
    assert losses.clipped_policy_loss(x, bad).item() == pytest.approx(np.exp(5.0), rel=1e-5)
    assert losses.clipped_policy_loss(x, bad, clip_c=3.0).item() == 3.0
    assert losses.clipped_policy_loss(x, -bad, clip_c=3.0).item() == pytest.approx(-1.2)


def test_importance_weights_are_truncated_above_only():
    weights = losses.truncated_importance(torch.tensor([0.0, -3.0]), torch.tensor([-3.0, 0.0]), cap=2.0)
    assert weights.tolist() == pytest.approx([2.0, np.exp(-3.0)])


def test_nothing_outside_the_mask_is_read():
    x = torch.tensor([[1.0, float("nan")]])
    mask = torch.tensor([[1.0, 0.0]])
    for how in ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum"):
        assert losses.aggregate(x, mask, how).item() == 1.0
    assert losses.aggregate(x, mask, "seq_mean_token_sum_norm", norm=2).item() == 0.5


def test_preference_losses_start_where_the_policy_is_the_reference():
    a, b = torch.tensor([-3.0, -5.0]), torch.tensor([-4.0, -2.0])
    assert losses.dpo(a, b, a, b, beta=0.1).item() == pytest.approx(np.log(2), abs=1e-6)
    assert losses.kto(a, b, a, b, beta=0.1).item() == pytest.approx(0.5, abs=1e-6)
    assert losses.bradley_terry(a, a).item() == pytest.approx(np.log(2), abs=1e-6)
    n = torch.tensor([2.0, 2.0])
    assert losses.simpo(a, a, n, n, beta=2.0, gamma=0.0).item() == pytest.approx(np.log(2), abs=1e-6)


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo"])
def test_a_group_without_spread_has_no_advantage(name):
    assert advantages.SAMPLE_LEVEL[name](torch.tensor([1.0, 1.0, 1.0]), ["g"] * 3).abs().max().item() == 0.0
