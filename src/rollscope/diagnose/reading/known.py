"""Names that several rules ask for, each a tuple of alternatives: the first present is read."""

from __future__ import annotations

REWARD = ("reward/generated/mean", "reward/mean", "score/generated/mean", "score/mean", "reward/trained/mean")
REWARD_STD = ("reward/generated/std", "reward/std", "group/reward_std/generated/mean", "group/reward_std/mean")
GROUP_STD = ("group/reward_std/generated/mean", "group/reward_std/mean")
ENTROPY = ("policy/entropy", "policy/entropy_aggregated", "policy/entropy_sampled")
KL = ("policy/kl_ref_k3", "policy/kl_ref_k1", "policy/kl_ref_k2", "policy/kl_ref_full", "policy/kl_ref_abs")
LENGTH = ("length/completion/generated/mean", "length/completion/mean", "length/response/mean")
TRUNCATED = (
    *("length/truncated/generated", "length/truncated", "stop/length/generated", "stop/length"),
    *("length/not_ended/generated", "length/not_ended", "length/at_width/response"),
)
GRAD = ("optimiser/grad_norm", "optimiser/grad_norm_max")
ZERO_SPREAD = ("group/zero_spread",)
STEP_SECONDS = ("time/step", "time/total", "time/train_step")
