"""The training metrics page of RLinf: namespaces, policy, rollout and environment metrics."""

from __future__ import annotations

from rollscope.catalog.guidance import SCENARIOS

from .checks import (
    Check,
    computes,
    corrected,
    differs,
    entry,
    every,
    explains,
    ours,
    page,
    says,
    times,
    value,
    watched,
    within,
)
from .conftest import Recorded

R = "rlinf"


def success_comes_first(recorded: Recorded) -> None:
    (embodied,) = [one for one in SCENARIOS if one.name == "embodied"]
    assert embodied.watch[0].metric == "env/success_once" and embodied.watch[0].vital


OLD = [[-1.0, -1.0]]
ROWS = {"action_mask": [[1, 1]], "advantages": [[1.0, 1.0]], "clip_low": 0.2, "clip_high": 0.2}
CLIPPED = ROWS | {"old_logp": OLD, "logp": [[-0.5, -1.0]]}

ITEMS: list[tuple[str, Check]] = [
    (
        "namespace train/",
        every(
            explains("train/actor/grad_norm", "optimiser/grad_norm", R),
            explains("train/critic/value_loss", "critic/loss", R),
        ),
    ),
    ("namespace rollout/", explains("rollout/advantages_mean", "advantage", R)),
    ("namespace env/", explains("env/success_once", "env/success_once", R)),
    ("namespace time/", every(ours("time/step", "time/generate"), entry("time/generate", unit="s"))),
    ("env/success_once is the single most useful signal of embodied tasks", success_comes_first),
    (
        "success_once is the unnormalised episodic success rate",
        computes("env/success_once", {"success_once": [1, 0, 0, 0]}, 0.25),
    ),
    ("train/actor/approx_kl", value(R, "train/actor/approx_kl")),
    ("approx_kl is between the old and the new policy", says("train/actor/approx_kl", "before the update", dialect=R)),
    ("approx_kl may be negative", corrected("train/actor/approx_kl is a KL divergence.")),
    ("train/actor/clip_fraction", value(R, "train/actor/clip_fraction")),
    ("clip_fraction is the share of clipped ratios", computes("policy/clip/high", CLIPPED, 0.5)),
    ("clip_fraction is a fraction", corrected("train/actor/clip_fraction is a fraction.")),
    ("train/actor/clipped_ratio", value(R, "train/actor/clipped_ratio")),
    (
        "clipped_ratio is the mean of ratios after clamping",
        corrected("train/actor/clipped_ratio is the mean of the clipped ratios."),
    ),
    ("train/actor/grad_norm", value(R, "train/actor/grad_norm")),
    ("train/actor/lr", value(R, "train/actor/lr")),
    ("train/actor/policy_loss", value(R, "train/actor/policy_loss")),
    ("train/critic/value_loss", differs(R, "train/critic/value_loss")),
    ("train/critic/value_clip_ratio", differs(R, "train/critic/value_clip_ratio")),
    (
        "value_clip_ratio is the share of clipped value targets",
        corrected("train/critic/value_clip_ratio is the share of clipped value updates."),
    ),
    (
        "the mean of clamped ratios stays within the clip range",
        within("embodied", "train/actor/clipped_ratio", 0.8, 1.2),
    ),
    ("train/critic/explained_variance", value(R, "train/critic/explained_variance")),
    ("explained variance: closer to 1 is better", entry("critic/explained_variance", good="up", range=(None, 1.0))),
    (
        "explained variance of a perfect critic is 1",
        computes(
            "critic/explained_variance",
            {"old_values": [[1.0, 2.0]], "returns": [[1.0, 2.0]], "action_mask": [[1, 1]]},
            1.0,
        ),
    ),
    ("train/entropy_loss", differs(R, "train/entropy_loss")),
    ("train/loss", differs(R, "train/loss")),
    ("train/entropy_loss and train/loss have other keys in the code", corrected("train/entropy_loss and train/loss.")),
    *((f"rollout/advantages_{stat}", value(R, f"rollout/advantages_{stat}")) for stat in ("max", "mean", "min")),
    (
        "advantages of the batch, after normalisation",
        corrected("rollout/advantages_* describe the advantages collected."),
    ),
    ("rollout/rewards", value(R, "rollout/rewards")),
    ("rollout/rewards is the reward of a chunk", corrected("rollout/rewards is the reward of a chunk.")),
    ("env/success_once", value(R, "env/success_once")),
    ("env/episode_len", value(R, "env/episode_len")),
    ("episode_len counts the environment's steps", computes("env/episode_len/mean", {"episode_len": [4, 8]}, 6.0)),
    ("env/return", value(R, "env/return")),
    ("return is near zero until success under sparse rewards", says("env/return", "sparse")),
    ("env/reward", value(R, "env/reward")),
    ("env/reward is normalised by episode length", times("embodied", "env/reward", 1 / 24, "env/return")),
    ("env/reward is hard to read as performance", corrected("env/reward is normalised by episode length.")),
    (
        "what to watch for embodied runs",
        watched("embodied", "env/success_once", "policy/kl_update_k1", "critic/loss", "env/return/mean"),
    ),
    ("backends TensorBoard, Weights & Biases and SwanLab", page("recording.md", 'sinks=["wandb", ...]')),
    ("a page defines each metric once", page("metrics/env.md", "success_once")),
]
