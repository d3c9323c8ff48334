"""The logging page of TRL: trackers, PPO, GRPO, and the values that matter most."""

from __future__ import annotations

import numpy as np
import pytest

import rollscope as rs
from rollscope.sinks.registry import SINKS

from .checks import (
    Check,
    alarm,
    computes,
    corrected,
    differs,
    entry,
    every,
    explains,
    in_unit,
    ours,
    page,
    says,
    times,
    value,
    watched,
    within,
)
from .conftest import Recorded

P, G = "trl:ppo@1.12", "trl:grpo"
OLD = {"old_logp": [[-1.0] * 4], "action_mask": [[1] * 4], "clip_low": 0.2, "clip_high": 0.2}
MOVED = OLD | {"logp": [[-0.5, -1.0, -1.0, -1.5]], "advantages": [[1.0, 1.0, 1.0, -1.0]]}
LENGTHS = {"completion_tokens": [3, 8, 5, 8], "stop_reason": ["stop", "length", "stop", "length"]}
LENGTHS |= {"terminated": [1, 0, 1, 0], "max_completion_tokens": 8}


def tracker(name: str) -> Check:
    def check(recorded: Recorded) -> None:
        assert name in SINKS

    return check


def score_and_penalty_add_up(recorded: Recorded) -> None:
    values = rs.rename(recorded.last["ppo"], P)
    total = values["objective/scores"] + values["objective/non_score_reward"]
    assert values["objective/rlhf_reward"] == pytest.approx(total, abs=1e-5)


def ended_lengths(recorded: Recorded) -> None:
    got = rs.rename(rs.compute({key: x if key == "stop_reason" else np.asarray(x) for key, x in LENGTHS.items()}), G)
    expected = {"mean_length": 6.0, "min_length": 3.0, "max_length": 8.0, "clipped_ratio": 0.5}
    expected |= {"mean_terminated_length": 4.0, "min_terminated_length": 3.0, "max_terminated_length": 5.0}
    assert {name: got[f"completions/{name}"] for name in expected} == pytest.approx(expected)


def episodes_are_counted(recorded: Recorded) -> None:
    run = recorded.runs["ppo"]
    rows = run.samples(where="split = 'train' AND trained IS NOT NULL", columns=["id"])
    assert run.series("counter/episodes")["value"][-1] == len(rows["id"])


ITEMS: list[tuple[str, Check]] = [
    ("report_to trackio", tracker("trackio")),
    ("report_to wandb", tracker("wandb")),
    ("report_to tensorboard", tracker("tensorboard")),
    ("one setting attaches to a TRL trainer", page("sources.md", "rollscope.sources.trl.attach")),
    ("a logging directory for TensorBoard", page("sources.md", "TensorBoard")),
    ("what a run logs by default is saved", ours("policy/entropy", "reward/trained/mean")),
    # PPO
    ("eps", value(P, "eps")),
    ("eps is episodes per second", in_unit("1/s", P, "eps")),
    ("objective/kl", value(P, "objective/kl")),
    ("objective/kl sums over a sequence", corrected("objective/kl is the mean KL divergence.")),
    ("objective/entropy", value(P, "objective/entropy")),
    ("objective/non_score_reward", value(P, "objective/non_score_reward")),
    (
        "non_score_reward is -beta times the summed KL",
        times("ppo", "objective/non_score_reward", -0.05, "objective/kl"),
    ),
    ("objective/rlhf_reward", value(P, "objective/rlhf_reward")),
    (
        "rlhf_reward is the score and the penalty together",
        every(score_and_penalty_add_up, corrected("objective/rlhf_reward is score minus non_score_reward.")),
    ),
    ("objective/scores", value(P, "objective/scores")),
    ("policy/approxkl_avg", differs(P, "policy/approxkl_avg")),
    ("approxkl_avg is between consecutive policies", says("policy/approxkl_avg", "before the update", dialect=P)),
    (
        "approxkl_avg is not objective/kl",
        every(
            explains("policy/approxkl_avg", "policy/kl_update_k2", P), explains("objective/kl", "policy/kl_ref_sum", P)
        ),
    ),
    ("policy/clipfrac_avg", differs(P, "policy/clipfrac_avg")),
    ("loss/policy_avg", differs(P, "loss/policy_avg")),
    ("loss/value_avg", differs(P, "loss/value_avg")),
    ("val/clipfrac_avg", differs(P, "val/clipfrac_avg")),
    ("val/clipfrac_avg is of the value function", explains("val/clipfrac_avg", "critic/clip", P)),
    ("policy/entropy_avg", differs(P, "policy/entropy_avg")),
    ("val/ratio", differs(P, "val/ratio")),
    (
        "val/ratio is the mean ratio of new to old probability",
        computes("policy/ratio/mean", OLD | {"logp": [[-1.0] * 4], "advantages": [[1.0] * 4]}, 1.0),
    ),
    ("val/ratio_var", differs(P, "val/ratio_var")),
    ("val/ratio_var is of micro-batch means", corrected("val/ratio_var is the variance of the ratio.")),
    ("val/num_eos_tokens", differs(P, "val/num_eos_tokens")),
    ("val/num_eos_tokens is of one process", corrected("val/num_eos_tokens counts the end tokens generated.")),
    ("lr", value(P, "lr")),
    ("episode", value(P, "episode")),
    ("episode is the count so far", episodes_are_counted),
    # crucial values of PPO
    (
        "crucial: objective/scores, rlhf_reward, non_score_reward",
        watched("trl-ppo", "score/mean", "reward/score_with_kl", "reward/kl_penalty", concern="effectiveness"),
    ),
    ("rlhf_reward should keep going up", entry("reward/score_with_kl", good="up")),
    (
        "stability: loss/value_avg, val/ratio, clipfrac, approxkl, kl",
        watched(
            "trl-ppo",
            "critic/loss",
            "policy/ratio/mean",
            "policy/clip/region",
            "policy/kl_update_k2",
            "policy/kl_ref_sum",
            concern="stability",
        ),
    ),
    (
        "loss/value_avg spikes or is NaN when not going well",
        every(says("critic/loss", "nan"), alarm("critic/loss", "above times opening", 10.0)),
    ),
    (
        "val/ratio floats around 1.0",
        every(
            entry("policy/ratio", good="near one", healthy=(0.9, 1.1)),
            within("ppo", "policy/ratio/mean", 0.5, 2.0),
            corrected("val/ratio floats around 1.0."),
        ),
    ),
    ("a ratio too high raises clipfrac and approxkl", computes("policy/clip/region", MOVED, 0.5)),
    ("objective/kl stays positive and not too large", says("policy/kl_ref_sum", "length")),
    # GRPO
    ("num_tokens", value(G, "num_tokens")),
    ("num_tokens is the total of tokens so far", corrected("num_tokens counts input tokens.")),
    *(
        (f"completions/{name}", value(G, f"completions/{name}"))
        for name in (
            "mean_length",
            "min_length",
            "max_length",
            "clipped_ratio",
            "mean_terminated_length",
            "min_terminated_length",
            "max_terminated_length",
        )
    ),
    ("lengths of all completions and of those that ended", ended_lengths),
    (
        "clipped_ratio: completions without an end token",
        every(
            says("completions/clipped_ratio", "end", dialect=G),
            in_unit("share", G, "completions/clipped_ratio"),
            in_unit("tokens", G, "completions/mean_length", "completions/max_terminated_length"),
        ),
    ),
    ("rewards/{reward_func_name}/mean", value(G, "rewards/exact/mean")),
    ("rewards/{reward_func_name}/std", value(G, "rewards/exact/std")),
    ("reward", value(G, "reward")),
    ("reward is before normalisation", corrected("reward is taken after group-wise normalisation.")),
    ("reward_std", value(G, "reward_std")),
    ("reward_std is over the whole batch", corrected("reward_std is the spread before group-wise normalisation.")),
    ("kl", value(G, "kl")),
    ("kl is to the reference policy", explains("kl", "policy/kl_ref_k3", G)),
    ("entropy", value(G, "entropy")),
    ("clip_ratio with Liger", corrected("clip_ratio is logged with Liger.")),
    ("clip_ratio/low_mean", value(G, "clip_ratio/low_mean")),
    ("low: the advantage is negative and the ratio below the bound", computes("policy/clip/low", MOVED, 0.25)),
    ("clip_ratio/low_min", value(G, "clip_ratio/low_min")),
    ("clip_ratio/high_mean", value(G, "clip_ratio/high_mean")),
    ("high: the advantage is positive and the ratio above the bound", computes("policy/clip/high", MOVED, 0.25)),
    ("clip_ratio/high_max", value(G, "clip_ratio/high_max")),
    (
        "low_min and high_max are extremes of completions",
        corrected("clip_ratio/low_min and high_max are extremes over batches and processes."),
    ),
    ("clip_ratio/region_mean", value(G, "clip_ratio/region_mean")),
    ("region: clipped at either bound", computes("policy/clip/region", MOVED, 0.5)),
    # crucial values of GRPO
    (
        "crucial: reward and the rewards of functions",
        watched("trl-grpo", "reward/mean", "reward_component/{component}/mean", concern="effectiveness"),
    ),
    (
        "crucial: kl, clip_ratio, entropy",
        watched("trl-grpo", "policy/kl_ref_k3", "policy/clip/region", "policy/entropy", concern="stability"),
    ),
    ("crucial: completions/clipped_ratio", watched("trl-grpo", "length/not_ended", concern="data")),
    ("reward should generally increase", every(says("reward", "trend"), entry("reward", good="up"))),
    ("very high clip ratios: the step is too large or the range too narrow", alarm("policy/clip/region", "above", 0.5)),
    (
        "a high clipped_ratio: the limit may be too short",
        every(says("length/not_ended", "limit"), alarm("length/not_ended", "above", 0.05)),
    ),
    ("the reward of a function shows which behaviour is learned", says("reward_component/{component}", "component")),
    (
        "a collapse of entropy stalls learning",
        every(says("policy/entropy", "collapse"), alarm("policy/entropy", "below times opening", 0.1)),
    ),
]
