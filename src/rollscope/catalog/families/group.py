"""Inequality inside prompt groups. `group` identifies a group, or `task` if no group is given.

These entries keep every group's values until the step is closed, because the members of a group may
be on several ranks. Groups for which a statistic is not defined are not counted;
`group/not_counted` says how many groups that were for the reward.
"""

from __future__ import annotations

from typing import Any

from rollscope.catalog.partials.per_group import Groups, PerGroup
from rollscope.catalog.partials.per_run import PerRun, run_ids
from rollscope.catalog.sequence import floats, metric_bounds, reward_bounds
from rollscope.catalog.spec import Alarm, Name, derived, metric

_GINI = (
    "the same for groups of two or more with rewards of at least 0; Telescope counts groups of one and groups "
    "without a positive sum as 0, and does not shift by a declared minimum"
)


@derived
def group_S(task_S: Any) -> Any:
    return task_S


@derived
def groups_S(group_S: Any) -> Groups:
    """The samples' groups, hashed once and shared by all entries."""
    return Groups(group_S)


@derived
def tasks_S(group_S: Any, task_S: Any = None) -> Groups:
    """The samples' tasks, or their groups if no tasks are given."""
    return Groups(group_S if task_S is None else task_S)


@derived
def runs_S(group_S: Any, repeat_S: Any) -> Any:
    """The run of each sample: one repeat of its group."""
    return run_ids(group_S, repeat_S)


def by_task(x: Any, tasks: Groups, runs: Any, outer: str) -> Any:
    """The `outer` statistic over tasks of their means; with runs, over the means of their runs."""
    return PerGroup.of("mean", x, tasks, outer=outer) if runs is None else PerRun.of(x, tasks, runs, outer)


def _gini(x: Any, group: Any, name: str, ranges: Any) -> PerGroup:
    return PerGroup.of("gini", floats(x), group, *metric_bounds(name, ranges))


@metric(
    "group/reward_gini",
    unit="gini",
    good="context",
    range=(0, 1),
    scoped=True,
    example="a group with rewards 1, 0, 0, 0 has 0.75, one with 1, 1, 1, 1 has 0: mean 0.375",
    names=(
        Name("telescope", "reward_gini_mean", note=_GINI),
        Name("telescope", "discarded_reward_gini_mean", scope="discarded", note=_GINI),
    ),
)
def reward_gini(
    reward_S: Any,
    groups_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> PerGroup:
    """How unequally a group's rewards are spread over its members, averaged over groups.

    Definition: per group, the sum over pairs |x_i - x_j| / (2 n^2 mean) with x the reward minus the
    declared minimum; at most (n - 1) / n, and 0 when all are equal. Aborted members count with the
    reward they were given, as in the advantage. Groups with fewer than two rewards, or with a
    negative reward and no declared minimum, are not counted.

    Read: 0 leaves no difference to learn from. Near (n - 1) / n, one member has all the reward: a
    rare success on a hard prompt. It falls both when prompts are solved and when they become
    hopeless, so read group/all_pass and group/all_fail too.

    Check: group/zero_spread: how many groups have no spread at all?; group/not_counted: are rewards
    negative without a declared minimum?; reward/mean.
    """
    return PerGroup.of(
        "gini", floats(reward_S), groups_S, *reward_bounds(reward_S, reward_min_S, reward_max_S, reward_ranges, env_S)
    )


@metric(
    "group/component_gini/{component}",
    unit="gini",
    good="context",
    range=(0, 1),
    scoped=True,
    example="component 'format' 1, 1, 0, 0 in one group gives 0.5",
)
def component_gini(rewards_S: Any, groups_S: Any, metrics_ranges: Any = None) -> dict[str, PerGroup]:
    """How unequally one reward component is spread over a group's members, averaged over groups.

    Definition: the Gini coefficient defined in `group/reward_gini`, for each component, with x
    shifted by the minimum declared for the component in `metrics_ranges`.

    Read: The policy is now learning from the components that still have spread inside groups.

    Check: reward_component/{component}/mean: is it solved or hopeless?; group/reward_gini: do
    components cancel each other in the total?
    """
    return {name: _gini(x, groups_S, name, metrics_ranges) for name, x in rewards_S.items()}


@metric(
    "group/sample_metric_gini/{metric}",
    unit="gini",
    good="context",
    range=(0, 1),
    scoped=True,
    example="sample metric 'correct' 1, 0, 0, 0 in one group gives 0.75",
    names=(
        Name("telescope", "reward_{metric}_gini_mean", note=_GINI),
        Name("telescope", "discarded_reward_{metric}_gini_mean", scope="discarded", note=_GINI),
    ),
)
def sample_metric_gini(sample_metrics_S: Any, groups_S: Any, metrics_ranges: Any = None) -> dict[str, PerGroup]:
    """How unequally a sample metric is spread over a group's members, averaged over groups.

    Definition: the Gini coefficient defined in `group/reward_gini`, for each sample metric, with x
    shifted by the minimum declared for the metric in `metrics_ranges`.

    Read: Near 0, the members of a group have similar values. Near (n - 1) / n, one member has
    nearly all of the total.

    Check: sample_metric/{metric}/mean; the groups where it is highest.
    """
    return {name: _gini(x, groups_S, name, metrics_ranges) for name, x in sample_metrics_S.items()}


@metric(
    "group/length_gini",
    unit="gini",
    good="down",
    range=(0, 1),
    scoped=True,
    example="completions of 100, 100, 100, 500 tokens in one group give 0.375",
    names=(
        Name("telescope", "group_length_gini_mean", note="Telescope counts groups of one sample as 0"),
        Name("telescope", "discarded_group_length_gini_mean", scope="discarded"),
    ),
)
def length_gini(completion_tokens_S: Any, groups_S: Any) -> PerGroup:
    """How unequal the completion lengths within a group are, averaged over groups.

    Definition: the Gini coefficient of the members' completion_tokens, with 0 for aborted members.
    Groups with fewer than two members are not counted.

    Read: Near 0, all answers to a prompt have about the same length. A rise means a few very long
    answers. They delay the batch and, with some loss aggregations, dominate the update.

    Check: group/length_max_median: one straggler or many?; length/truncated;
    reward/length_correlation.
    """
    return PerGroup.of("gini", floats(completion_tokens_S), groups_S, low=0.0)


@metric(
    "group/length_max_median",
    unit="ratio",
    good="near one",
    range=(1, None),
    scoped=True,
    example="completions of 100, 100, 120, 600 tokens have 600 / 110 = 5.45",
    names=(
        Name("telescope", "group_length_max_median_ratio_mean"),
        Name("telescope", "discarded_group_length_max_median_ratio_mean", scope="discarded"),
    ),
    alarms=(
        Alarm(
            "above",
            5.0,
            "watch",
            (
                "the longest of 16 log-normal lengths with a spread as large as their mean is about 5 "
                "times the mean (standard formula, weak source)"
            ),
            "each group waits for one straggler",
        ),
    ),
)
def length_max_median(completion_tokens_S: Any, groups_S: Any) -> PerGroup:
    """Length of a group's longest answer divided by its median length, averaged over groups: the
    straggler ratio.

    Definition: max / median of completion_tokens per group; 1 when all are equal. A group whose
    median is 0 while its longest answer is not empty is not counted.

    Read: Near 1, the members finish together. 3 means that the group waits for one answer two
    thirds of its time.

    Check: length/truncated: does the straggler reach the limit?; group/length_gini;
    time/waiting_for_data.
    """
    return PerGroup.of("max_median", floats(completion_tokens_S), groups_S)


@metric(
    "group/length_cv",
    unit="ratio",
    good="down",
    range=(0, None),
    scoped=True,
    example="completions of 100 and 300 tokens have std 141.4, mean 200: 0.707",
    names=(
        Name("telescope", "group_length_cv_mean"),
        Name("telescope", "discarded_group_length_cv_mean", scope="discarded"),
    ),
)
def length_cv(completion_tokens_S: Any, groups_S: Any) -> PerGroup:
    """Spread of completion lengths within a group relative to their mean, averaged over groups.

    Definition: standard deviation (ddof 1) divided by the mean of completion_tokens per group.
    Groups with fewer than two members or without any token are not counted.

    Read: Below 0.3, answers have similar lengths. Above 1, a few long ones dominate.

    Check: group/length_max_median; length/completion/p95.
    """
    return PerGroup.of("cv", floats(completion_tokens_S), groups_S)
