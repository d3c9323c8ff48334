"""Do groups carry a signal? Groups whose members all earned the same teach nothing.

These entries count every generated group, trained on or not: dropping groups without spread must
not hide how many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.per_group import PerGroup
from rollscope.catalog.sequence import floats, reward_bounds
from rollscope.catalog.spec import Alarm, Name, metric

key(
    "task_pass_rate",
    "sample",
    (
        "share of passes among the attempts at this sample's task in earlier steps of the run; NaN before "
        "the first attempt. The recorder and the views fill it in"
    ),
)

_TRL_ZERO_STD = (
    "a mean over samples, which is the same if all groups have the same size; 0 or 1 for the whole batch with "
    "scale_rewards='batch' or normalize_then_sum; a group with at most one reward counts as having spread"
)
_SINGLE = "Trinity writes std 1 for a prompt with a single run"


def _rewards(
    inner: str, reward: Any, group: Any, low: Any, high: Any, ranges: Any, env: Any, outer: str = "mean"
) -> PerGroup:
    return PerGroup.of(inner, floats(reward), group, *reward_bounds(reward, low, high, ranges, env), outer=outer)


def _against_range(inner: str, *inputs: Any) -> PerGroup | None:
    """The share of groups at one end of the declared range; None if that end is not declared."""
    groups = _rewards(inner, *inputs)
    declared = groups.low if inner == "all_fail" else groups.high
    return None if np.isnan(declared).all() else groups


@metric(
    "group/zero_spread",
    unit="share",
    good="down",
    range=(0, 1),
    example="groups (1, 1, 1, 1), (0, 0, 0, 0) and (1, 0, 0, 1) give 2 / 3",
    names=(
        Name(
            "trl",
            "frac_reward_zero_std",
            trainer="grpo",
            note=_TRL_ZERO_STD,
        ),
        Name("trl", "frac_reward_zero_std", trainer="rloo", note="over groups, on rewards after the KL penalty"),
        Name(
            "trl",
            "self_distillation/flat_group_fraction",
            trainer="sdpo",
            note="uses its own tolerance, diagnostics_flat_tolerance",
        ),
    ),
    alarms=(Alarm("above", 0.5, "bad", "miles advisory.py:31", "half of the groups teach nothing"),),
)
def zero_spread(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup:
    """Share of groups in which every member earned the same.

    Definition: groups whose rewards have max - min of at most a millionth of the declared range (of
    the range observed in the step, if no range is declared), over groups with at least two rewards.

    Read: Such groups have zero advantage. Compare with `group/zero_spread_expected`, because easy
    and hopeless prompts always give some share. If all of these groups earn 0, look for a fault
    (timeouts, truncation) before you call the data hard.

    Check: group/all_fail and group/all_pass: at which end are they?; length/truncated: does
    everything fail because it is cut?; group/zero_spread_expected.
    """
    return _rewards("zero_spread", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S)


@metric(
    "group/all_pass",
    unit="share",
    good="context",
    range=(0, 1),
    example="with reward_max 1, groups (1, 1) and (1, 0) give 0.5",
)
def all_pass(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup | None:
    """Share of groups in which every member earned the highest possible reward.

    Definition: groups whose lowest reward reaches the declared maximum to within a millionth of the
    range, over groups with at least two rewards and a declared maximum. Not written without a
    declared maximum.

    Read: These prompts are solved. As the share grows, the same batch teaches less.

    Check: the declared reward_max of each environment; group/zero_spread;
    eval/{set}/{score}/mean@{k}: is the gain real?
    """
    return _against_range("all_pass", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S)


@metric(
    "group/all_fail",
    unit="share",
    good="down",
    range=(0, 1),
    example="with reward_min 0, groups (0, 0) and (1, 0) give 0.5",
    alarms=(
        Alarm(
            "above",
            0.999,
            "bad",
            "miles advisory.py:31: all rewards 0 is a systematic failure, not difficulty",
            "every group fails completely: look for a fault first",
        ),
    ),
)
def all_fail(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup | None:
    """Share of groups in which every member earned the lowest possible reward.

    Definition: groups whose highest reward stays at the declared minimum to within a millionth of
    the range, over groups with at least two rewards and a declared minimum. Not written without a
    declared minimum.

    Read: These prompts are out of reach, or the scorer fails. If the share jumps from one step to
    the next, it is the scorer.

    Check: length/truncated; reward/missing; tool/failure_share; the samples of a failed group.
    """
    return _against_range("all_fail", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S)


@metric("group/mixed", unit="share", good="up", range=(0, 1), example="groups (1, 0), (1, 1) and (0, 0) give 1 / 3")
def mixed(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup:
    """Share of groups whose members earned different rewards.

    Definition: 1 - group/zero_spread, over the same groups (those with at least two rewards).

    Read: This part of the batch teaches something.

    Check: group/all_pass and group/all_fail: what are the other groups?
    """
    return _rewards("mixed", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S)


@metric(
    "group/any_pass",
    unit="share",
    good="up",
    range=(0, 1),
    example="with reward_max 1, groups (1, 0), (0, 0) give 0.5",
    names=(
        Name(
            "trl",
            "self_distillation/success_group_fraction",
            trainer="sdpo",
            same=False,
            note="TRL counts a reward above the trainer's own threshold as success",
        ),
    ),
)
def any_pass(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup | None:
    """Share of groups in which at least one member earned the highest possible reward.

    Definition: groups whose highest reward reaches the declared maximum to within a millionth of
    the range, over groups with at least one reward and a declared maximum. This is pass@n on the
    training prompts.

    Read: The ceiling of what this batch can teach. If it stays the same while reward/mean rises,
    the policy gets better at tasks that it could already solve.

    Check: group/all_fail; reward/passed.
    """
    return _against_range("any_pass", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S)


@metric(
    "group/zero_spread_expected",
    unit="share",
    good="context",
    range=(0, 1),
    example="a prompt passed 9 times of 10 before; four attempts now: 0.9^4 + 0.1^4 = 0.656",
)
def zero_spread_expected(task_pass_rate_S: Any, groups_S: Any) -> PerGroup:
    """Expected share of groups without spread, given how often their prompts were solved before.

    Definition: mean over groups of p^K + (1 - p)^K, with K the number of the group's members now
    and p the share of passes among that prompt's attempts in earlier steps of this run
    (`task_pass_rate`). Prompts never tried before and groups of one are not counted.

    Read: The baseline for `group/zero_spread` with pass-or-fail rewards. If the observed share is
    far above it, members of a group fail or succeed together: look for one common cause, such as a
    timeout.

    Check: group/zero_spread; group/not_counted; how many prompts have a history.
    """
    return PerGroup.of("zero_spread_expected", floats(task_pass_rate_S), groups_S)


@metric(
    "group/not_counted",
    unit="groups",
    good="down",
    range=(0, None),
    example="rewards (1, -1) without a declared minimum and a group of one: 2 groups not counted",
)
def not_counted(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup:
    """Number of groups without a reward Gini.

    Definition: groups with fewer than two rewards, or with a reward below the declared minimum
    (below 0 if no minimum is declared).

    Read: 0 in a healthy setup. Groups of one cannot be compared with anything; negative rewards
    need `reward_min`.

    Check: group/size/min; the declared reward_min; reward/missing.
    """
    return _rewards("gini", reward_S, groups_S, reward_min_S, reward_max_S, reward_ranges, env_S, "not_counted")


def _std(outer: str, reward: Any, group: Any) -> PerGroup:
    return PerGroup.of("std", floats(reward), group, outer=outer)


@metric(
    "group/reward_std/mean",
    unit="reward",
    good="context",
    range=(0, None),
    scoped=True,
    example="groups (1, 0) and (1, 1) have 0.707 and 0: mean 0.354",
    names=(
        Name(
            "openrlhf",
            "group_reward_std",
            note="weighted by samples, which is the same if all groups have the same size",
        ),
        Name("trinity", "experience_pipeline/group_advantages/reward_std/mean", scope="generated", note=_SINGLE),
        Name("trl", "self_distillation/group_reward_std_mean", trainer="sdpo"),
    ),
)
def reward_std_mean(reward_S: Any, groups_S: Any) -> PerGroup:
    """Spread of the reward within a group, averaged over groups.

    Definition: standard deviation (ddof 1) of the rewards of each group with at least two, then the
    mean over groups.

    Read: GRPO divides advantages by this spread. A fall towards 0 comes before a collapse: the
    policy's answers to a prompt have become alike.

    Check: group/zero_spread; policy/entropy; advantage/max: do tiny spreads make advantages huge?
    """
    return _std("mean", reward_S, groups_S)


@metric(
    "group/reward_std/max",
    unit="reward",
    good="context",
    range=(0, None),
    scoped=True,
    example="groups (1, 0) and (1, 1): 0.707",
    names=(Name("trinity", "experience_pipeline/group_advantages/reward_std/max", scope="generated", note=_SINGLE),),
)
def reward_std_max(reward_S: Any, groups_S: Any) -> PerGroup:
    """Largest spread of the reward within a group.

    Definition: standard deviation (ddof 1) of the rewards of each group with at least two, then the
    highest.

    Read: Limited by the reward range. 0 means that no group of the step has any spread.

    Check: group/zero_spread; the samples of that group.
    """
    return _std("max", reward_S, groups_S)


@metric(
    "group/reward_std/min",
    unit="reward",
    good="context",
    range=(0, None),
    scoped=True,
    example="groups (1, 0) and (1, 1): 0",
    names=(Name("trinity", "experience_pipeline/group_advantages/reward_std/min", scope="generated", note=_SINGLE),),
)
def reward_std_min(reward_S: Any, groups_S: Any) -> PerGroup:
    """Smallest spread of the reward within a group.

    Definition: standard deviation (ddof 1) of the rewards of each group with at least two, then the
    lowest.

    Read: A value just above 0 is worse than 0, because dividing by it makes enormous advantages.

    Check: advantage/max; rounding of the reward.
    """
    return _std("min", reward_S, groups_S)


@metric(
    "group/size/mean",
    unit="samples",
    good="context",
    range=(1, None),
    example="groups of 4, 4 and 2 samples: 3.33",
    alarms=(
        Alarm(
            "below",
            8.0,
            "watch",
            "prime-rl training.md:384: a floor of 8, 16 to 32 common",
            "small groups give noisy baselines",
        ),
    ),
)
def size_mean(groups_S: Any) -> PerGroup:
    """Number of members of a group, averaged over groups.

    Definition: samples with the same group id, averaged over all groups; members without a reward
    count.

    Read: Should be the configured number of generations. If it is not, a group id is wrong: the
    same prompt under two ids silently weakens group-based algorithms.

    Check: group/size/min and group/size/max; discarded/share: were members lost?
    """
    return PerGroup.of("size", np.zeros(len(groups_S)), groups_S)


@metric(
    "group/size/min",
    unit="samples",
    good="context",
    range=(1, None),
    example="groups of 4, 4 and 2 samples: 2",
    alarms=(
        Alarm(
            "below", 2.0, "watch", "Search-R1#88: a group id that splits a prompt", "some groups have a single member"
        ),
    ),
)
def size_min(groups_S: Any) -> PerGroup:
    """Number of members of the smallest group.

    Definition: samples with the same group id, the lowest over groups.

    Read: If it is below the configured number of generations, members were lost or have another id.

    Check: group/not_counted; discarded/share; stop/error.
    """
    return PerGroup.of("size", np.zeros(len(groups_S)), groups_S, outer="min")


@metric("group/size/max", unit="samples", good="context", range=(1, None), example="groups of 4, 4 and 2 samples: 4")
def size_max(groups_S: Any) -> PerGroup:
    """Number of members of the largest group.

    Definition: samples with the same group id, the highest over groups.

    Read: If it is above the configured number of generations, two attempts at a prompt share an id.

    Check: group/size/min; whether the group id changes from step to step.
    """
    return PerGroup.of("size", np.zeros(len(groups_S)), groups_S, outer="max")


@metric("group/count", unit="groups", good="context", range=(0, None), example="ids a, a, b, b: 2")
def count(groups_S: Any) -> PerGroup:
    """Groups in the step.

    Definition: distinct group ids over all ranks.

    Read: The number of prompts behind the update: the real sample size of a group-based algorithm.

    Check: group/size/mean; discarded/share.
    """
    return PerGroup.of("size", np.zeros(len(groups_S)), groups_S, outer="count")
