"""Rewards by component and by prompt: a prompt's repeats are averaged first, then the prompts."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.partials.per_group import PerGroup
from rollscope.catalog.sequence import floats, of_sequences, share, without_aborted
from rollscope.catalog.spec import Alarm, Name, metric

from .group import by_task

_TRINITY_SINGLE = "Trinity writes a prompt with a single run as mean 0 and std 1, whatever it earned"
_TRINITY_ROLLOUT = "in Trinity, failed tasks leave no row, and boolean columns are dropped"


@metric(
    "reward_component/{component}",
    unit="reward",
    good="up",
    scoped=True,
    example="rewards={'format': [1, 0]} gives reward_component/format/mean 0.5",
    names=(
        Name(
            "trl",
            "rewards/{component}/{mean,std}",
            trainer="grpo,rloo",
            note="raw, before the function's weight; std over the whole batch with ddof 1",
        ),
        Name("trl", "rewards/{component}", trainer="async_grpo", stat="mean"),
        Name("trl", "self_distillation/rewards/{component}", trainer="sdpo,sdft", stat="mean"),
        Name("verl", "gdpo/{component}/{mean,max,min}", versions=">=0.9"),
        Name(
            "verl",
            "gdpo/{component}/std",
            versions=">=0.9",
            stat="std",
            same=False,
            note="veRL uses ddof 0, we use ddof 1",
        ),
    ),
)
def reward_component(rewards_S: Any, written_tokens_S: Any = None) -> dict[str, Distribution]:
    """One component of the reward: the value that a single reward function returned.

    Definition: one number per sample and component, unweighted, pooled over samples; std with ddof
    1. Aborted samples and samples without that component (NaN) are not counted.

    Read: Shows which behaviour is learned. If the total rises because of one component while the
    others stay the same, the reward may be gamed.

    Check: the samples with the highest value of the component that moved;
    reward/length_correlation; reward_component/{component}/missing.
    """
    return {name: Distribution(of_sequences(x, written_tokens_S)) for name, x in rewards_S.items()}


@metric(
    "reward_component/{component}/missing",
    unit="share",
    good="down",
    range=(0, 1),
    example="rewards={'judge': [1, nan]} gives 0.5",
    alarms=(
        Alarm(
            "above",
            0.05,
            "watch",
            "prime-rl training.md:121: errored rollouts above 5 % are a smell",
            "a reward function often returns nothing",
        ),
    ),
)
def reward_component_missing(rewards_S: Any) -> dict[str, Ratio]:
    """Share of samples for which a reward function returned nothing.

    Definition: samples whose value of the component is NaN (None), over all samples.

    Read: With several environments, a component may belong to only one of them; then this is the
    share of the other environments. In a single environment it should be 0.

    Check: the function's own log; sample_time/reward: does it time out?; the samples it skipped.
    """
    return {name: share(np.isnan(floats(x))) for name, x in rewards_S.items()}


@metric(
    "sample_metric/{metric}",
    unit="as logged",
    good="context",
    scoped=True,
    example="sample_metrics={'correct': [1, 0, 1, 1]} gives sample_metric/correct/mean 0.75",
    names=(
        Name("telescope", "reward_{metric}_{mean,std,min,max}", note="kept groups only"),
        Name("telescope", "discarded_reward_{metric}_{mean,std,min,max}", scope="discarded"),
    ),
)
def sample_metric(sample_metrics_S: Any, written_tokens_S: Any = None) -> dict[str, Distribution]:
    """A number that the environment recorded for each sample.

    Definition: pooled over samples, std with ddof 1. Aborted samples and samples without that
    number (NaN) are not counted.

    Read: The environment defines its meaning. A declared range (`metrics_ranges`) gives the chart
    its scale.

    Check: the environment that records it; group/sample_metric_gini/{metric}: a few samples or all
    of them?
    """
    return {name: Distribution(of_sequences(x, written_tokens_S)) for name, x in sample_metrics_S.items()}


def _task(x: Any, tasks: Any, runs: Any, tokens: Any, outer: str) -> Any:
    return by_task(without_aborted(x, tokens), tasks, runs, outer)


def _tasks(metrics: Any, rewards: Any, tasks: Any, runs: Any, tokens: Any, outer: str) -> dict[str, PerGroup]:
    return {name: _task(x, tasks, runs, tokens, outer) for name, x in {**(rewards or {}), **(metrics or {})}.items()}


@metric(
    "task_reward/mean",
    unit="reward",
    good="up",
    scoped=True,
    example="task a earns 1, 0 and task b earns 1: (0.5 + 1) / 2 = 0.75, where the pooled mean is 0.667",
    names=(
        Name(
            "trinity", "experience_pipeline/group_advantages/reward_mean/mean", scope="generated", note=_TRINITY_SINGLE
        ),
    ),
)
def task_reward_mean(reward_S: Any, tasks_S: Any, runs_S: Any = None, written_tokens_S: Any = None) -> PerGroup:
    """Mean reward of a prompt, averaged over prompts.

    Definition: the rewards of a task's repeats are averaged first, then the tasks, so every prompt
    counts the same however many repeats it has. If one repeat has several samples, such as the
    model calls of an agent, these are averaged before. Aborted samples and samples without a reward
    (NaN) are left out; tasks without any remaining sample are not counted.

    Read: Equal to the pooled mean when all groups have the same size. If it differs, prompts with
    more repeats earn more or less than the others.

    Check: group/size/min and group/size/max: do groups differ in size?; reward/mean, the pooled
    mean.
    """
    reduced: PerGroup = _task(reward_S, tasks_S, runs_S, written_tokens_S, "mean")
    return reduced


@metric(
    "task_reward/max",
    unit="reward",
    good="up",
    scoped=True,
    example="task means 0.85, 0.75, 0.9 give 0.9",
    names=(
        Name(
            "trinity", "experience_pipeline/group_advantages/reward_mean/max", scope="generated", note=_TRINITY_SINGLE
        ),
    ),
)
def task_reward_max(reward_S: Any, tasks_S: Any, runs_S: Any = None, written_tokens_S: Any = None) -> PerGroup:
    """Mean reward of the best prompt.

    Definition: the rewards of a task's repeats are averaged, then the highest of those means is
    taken.

    Read: At the top of the range, there are prompts that the policy always solves.

    Check: group/all_pass: how many such prompts are there?; task_reward/min: how far apart are the
    prompts?
    """
    reduced: PerGroup = _task(reward_S, tasks_S, runs_S, written_tokens_S, "max")
    return reduced


@metric(
    "task_reward/min",
    unit="reward",
    good="up",
    scoped=True,
    example="task means 0.85, 0.75, 0.9 give 0.75",
    names=(
        Name(
            "trinity", "experience_pipeline/group_advantages/reward_mean/min", scope="generated", note=_TRINITY_SINGLE
        ),
    ),
)
def task_reward_min(reward_S: Any, tasks_S: Any, runs_S: Any = None, written_tokens_S: Any = None) -> PerGroup:
    """Mean reward of the worst prompt.

    Definition: the rewards of a task's repeats are averaged, then the lowest of those means is
    taken.

    Read: At the bottom of the range, there are prompts that the policy never solves.

    Check: group/all_fail: how many such prompts are there?; the samples of that prompt.
    """
    reduced: PerGroup = _task(reward_S, tasks_S, runs_S, written_tokens_S, "min")
    return reduced


@metric(
    "task_metric/{metric}/mean",
    unit="as logged",
    good="context",
    scoped=True,
    example="accuracy 0.8 0.9 | 0.6 0.9 | 0.95 0.85 of three tasks gives 0.8333",
    names=(Name("trinity", "rollout/{metric}/mean", scope="generated", note=_TRINITY_ROLLOUT),),
)
def task_metric_mean(
    tasks_S: Any, sample_metrics_S: Any = None, rewards_S: Any = None, runs_S: Any = None, written_tokens_S: Any = None
) -> dict[str, PerGroup]:
    """Mean of a sample metric or reward component per prompt, averaged over prompts.

    Definition: the values of a task's repeats are averaged first, then the tasks. If one repeat has
    several samples, these are averaged before. Aborted samples and missing values (NaN) are left
    out; tasks without any remaining value are not counted.

    Read: Read it like the metric itself; every prompt counts the same.

    Check: sample_metric/{metric}/mean, the pooled mean; group/size/min and group/size/max.
    """
    return _tasks(sample_metrics_S, rewards_S, tasks_S, runs_S, written_tokens_S, "mean")


@metric(
    "task_metric/{metric}/max",
    unit="as logged",
    good="context",
    scoped=True,
    example="task means 0.85, 0.75, 0.9 give 0.9",
    names=(Name("trinity", "rollout/{metric}/max", scope="generated", note=_TRINITY_ROLLOUT),),
)
def task_metric_max(
    tasks_S: Any, sample_metrics_S: Any = None, rewards_S: Any = None, runs_S: Any = None, written_tokens_S: Any = None
) -> dict[str, PerGroup]:
    """Highest mean of a sample metric or reward component among the prompts.

    Definition: the values of a task's repeats are averaged, then the highest of those means is
    taken.

    Read: Compare with the lowest to see how far apart the prompts are.

    Check: the samples of that prompt.
    """
    return _tasks(sample_metrics_S, rewards_S, tasks_S, runs_S, written_tokens_S, "max")


@metric(
    "task_metric/{metric}/min",
    unit="as logged",
    good="context",
    scoped=True,
    example="task means 0.85, 0.75, 0.9 give 0.75",
    names=(Name("trinity", "rollout/{metric}/min", scope="generated", note=_TRINITY_ROLLOUT),),
)
def task_metric_min(
    tasks_S: Any, sample_metrics_S: Any = None, rewards_S: Any = None, runs_S: Any = None, written_tokens_S: Any = None
) -> dict[str, PerGroup]:
    """Lowest mean of a sample metric or reward component among the prompts.

    Definition: the values of a task's repeats are averaged, then the lowest of those means is
    taken.

    Read: Compare with the highest to see how far apart the prompts are.

    Check: the samples of that prompt.
    """
    return _tasks(sample_metrics_S, rewards_S, tasks_S, runs_S, written_tokens_S, "min")
