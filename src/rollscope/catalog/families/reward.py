"""Rewards of samples: the reward behind the advantages, the score behind it, missing rewards.

These statistics pool all samples; `task_reward` in reward_task.py averages by prompt first.
A sample without a sampled token is in none of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.comoments import Pearson
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.group_statistics import SAME
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import by_name, floats, of_sequences, reward_bounds, share
from rollscope.catalog.spec import Alarm, Name, metric

_BEFORE_KL = "the reward before any KL term is added; the same number if the KL is in the loss, otherwise our score"


@metric(
    "reward",
    unit="reward",
    good="up",
    scoped=True,
    example="rewards 1, 0, 1, 1 give mean 0.75 and std 0.5",
    names=(
        Name("verl", "critic/rewards/{mean,max,min}"),
        Name("trinity", "critic/rewards/{mean,max,min}"),
        Name("openrlhf", "reward", stat="mean", note=_BEFORE_KL),
        Name("openrlhf", "return", stat="mean", note="the sum of the shaped reward over the tokens"),
        Name(
            "openrlhf",
            "rollout/reward_{mean,std}",
            scope="generated",
            note="taken before dynamic batching; std with ddof 1",
        ),
        Name(
            "trl",
            "reward",
            trainer="grpo,rloo",
            stat="mean",
            note=_BEFORE_KL + "; not normalised, although the old logging page says it is",
        ),
        Name(
            "trl",
            "reward_std",
            trainer="grpo,rloo",
            stat="std",
            note="over the whole batch with ddof 1, not the mean of the groups' standard deviations",
        ),
        Name("trl", "reward", trainer="async_grpo", stat="mean"),
        Name(
            "trl",
            "reward_std",
            trainer="async_grpo",
            stat="std",
            same=False,
            note="the standard deviation of a group (ddof 0), averaged over groups; ours is that of the whole batch",
        ),
        Name(
            "trl",
            "rewards",
            stat="mean",
            same=False,
            note="the published glossary's name; TRL writes `reward`, and `rewards/...` for each reward function",
        ),
        Name("trl", "self_distillation/reward_{mean,std,min,max}", trainer="sdpo,sdft"),
        Name("rlinf", "rollout/reward_scores", stat="mean", note="reasoning runner"),
        Name("rlinf", "rollout/reward_scores_traj", stat="mean", note="multi-turn runner, one per trajectory"),
        Name(
            "rlinf",
            "rollout/reward_scores_turn",
            stat="mean",
            same=False,
            note="counts a trajectory once per turn, so long ones weigh more",
        ),
        Name("rlinf", "agent/mean/reward", stat="mean"),
        Name(
            "telescope",
            "reward_sum_{mean,std,min,max}",
            note="kept groups only: if zero-advantage groups are discarded, all-pass and all-fail groups are missing",
        ),
        Name("telescope", "rollout/reward_mean", stat="mean", note="the tracker's scalar, kept samples only"),
        Name("telescope", "discarded_reward_sum_{mean,std,min,max}", scope="discarded"),
    ),
    alarms=(
        Alarm(
            "below",
            1e-9,
            "watch",
            "RAGEN, arXiv 2504.20073: reward spread falls before collapse",
            "every sample earns the same",
            stat="std",
        ),
    ),
)
def reward(reward_S: Any, written_tokens_S: Any = None) -> Distribution:
    """Reward of a sample, from which its advantage is computed.

    Definition: one number per sample after shaping, KL and penalties (the score, if no reward is
    given), pooled over samples; std with ddof 1. Samples without a sampled token and samples
    without a reward (NaN) are not counted; `reward/missing` says how many had no reward. An
    infinite reward is counted and shown.

    Read: The trend matters more than the level. Read `reward/generated` for what the policy earns
    and `reward/trained` for what the update saw. The gap shows how dropping groups changes the
    curve.

    Check: reward/missing: did scoring fail?; length/truncated: are answers cut?; policy/entropy:
    did exploration end?; reward_component/{component}: which part moved?
    """
    return Distribution(of_sequences(reward_S, written_tokens_S))


@metric(
    "score",
    unit="reward",
    good="up",
    scoped=True,
    example="scores 1, 0, 1, 1 give mean 0.75",
    names=(
        Name("verl", "critic/score/{mean,max,min}"),
        Name("trinity", "critic/score/{mean,max,min}"),
        Name("openrlhf", "score", stat="mean"),
        Name("trl", "objective/scores", stat="mean", note="after the penalty for a missing end-of-sequence token"),
    ),
)
def score(score_S: Any, written_tokens_S: Any = None) -> Distribution:
    """Score of a sample as the environment or the reward model gave it, before any shaping.

    Definition: one number per sample, pooled over samples; std with ddof 1. Samples without a
    sampled token and samples without a score (NaN) are not counted.

    Read: The part of the reward that comes from the task. If the reward falls while the score stays
    the same, the penalty grew.

    Check: reward: did shaping change it?; policy/kl_ref_k1: is the KL term large?; reward_seconds:
    does the judge still answer?
    """
    return Distribution(of_sequences(score_S, written_tokens_S))


@metric(
    "reward/missing",
    unit="share",
    good="down",
    range=(0, 1),
    healthy=(0, 0),
    example="rewards 1, nan, 0, 1 give 0.25",
    alarms=(
        Alarm(
            "above",
            0.0,
            "watch",
            "TRL: a reward function that returns None leaves NaN, which its means skip",
            "some samples have no reward",
        ),
    ),
)
def reward_missing(reward_S: Any) -> Ratio:
    """Share of samples without a reward.

    Definition: samples whose reward is NaN, over all samples. They are in no reward statistic, so
    they are visible only here.

    Read: Anything above 0 deserves a look: a scorer that raises or times out on hard answers makes
    the mean reward rise.

    Check: the samples without a reward in the rollout table; reward_component/{component}/missing:
    which function returned nothing?; sample_time/reward: do scorers time out?
    """
    return share(np.isnan(floats(reward_S)))


@metric(
    "reward/passed",
    unit="share",
    good="up",
    range=(0, 1),
    scoped=True,
    example="rewards 2, 2, 0, 1 with reward_max 2 give 0.5",
    names=(
        Name(
            "trl",
            "self_distillation/success_sample_fraction",
            trainer="sdpo",
            same=False,
            note="counts samples above the trainer's own threshold, not at the declared maximum",
        ),
    ),
)
def reward_passed(
    reward_S: Any,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
    reward_min_S: Any = None,
    written_tokens_S: Any = None,
) -> Ratio | None:
    """Share of samples that earned the highest possible reward.

    Definition: samples whose reward reaches the declared maximum to within a millionth of the
    range, over samples with a reward and a declared maximum; aborted samples are not counted. Not
    written without a declared maximum.

    Read: For rewards of 0 and 1, this is accuracy on the training prompts. Compared with the mean,
    it separates full marks from many partial marks.

    Check: reward/mean: do partial marks cause the rise?; group/all_pass: is the data too easy by
    now?
    """
    reward = floats(reward_S)
    low, high = reward_bounds(reward, reward_min_S, reward_max_S, reward_ranges, env_S)
    if np.isnan(high).all():
        return None
    counted = ~np.isnan(reward) & ~np.isnan(high) & (True if written_tokens_S is None else written_tokens_S > 0)
    return share(reward >= high - SAME * np.where(high > low, high - low, 1.0), counted)


@metric(
    "reward_env/{env}",
    unit="reward",
    good="up",
    scoped=True,
    example="env a earns 1 and 0, env b earns 2: reward_env/a/mean 0.5, reward_env/b/mean 2",
)
def reward_env(reward_S: Any, env_S: Any, written_tokens_S: Any = None) -> dict[str, Distribution]:
    """Reward of the samples of one environment.

    Definition: the same statistics as `reward`, over the samples of each environment separately.

    Read: The reward of a mixture can rise because its easy part grew. Each environment has its own
    scale, so only the trend of the pooled mean is meaningful.

    Check: the number of samples of each environment; the declared range of each;
    sample_metric/{metric} of the environment that moved.
    """
    reward, tokens = floats(reward_S), written_tokens_S
    return {
        name: Distribution(of_sequences(reward[rows], None if tokens is None else tokens[rows]))
        for name, rows in by_name(env_S).items()
    }


@metric(
    "reward/length_correlation",
    unit="correlation",
    good="near zero",
    range=(-1, 1),
    scoped=True,
    example="lengths 10, 20, 30 with rewards 0, 0.5, 1 give 1.0",
    alarms=(
        Alarm(
            "above",
            0.7,
            "watch",
            "length bias rule of thumb, burtonye.github.io (a weak source)",
            "longer answers earn more: is length being rewarded?",
        ),
    ),
)
def reward_length_correlation(reward_S: Any, completion_tokens_S: Any) -> Pearson:
    """Pearson correlation between reward and completion length.

    Definition: over samples with a reward and at least one sampled token, pooled; NaN if one of the
    two does not vary.

    Read: A correlation that grows while evaluation stays flat means that length is being rewarded.
    Cut answers that earn nothing lower it, so read `length/truncated` too.

    Check: length/completion/mean: does it rise too?; length/truncated; loss_agg: how does the loss
    average tokens and sequences?
    """
    reward, tokens = floats(reward_S), floats(completion_tokens_S)
    counted = ~np.isnan(reward) & (tokens > 0)
    correlation: Pearson = Pearson.of(reward[counted], tokens[counted])
    return correlation
