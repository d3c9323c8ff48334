"""Staleness: the age of the weights that wrote a sample. On-policy is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import fates, floats, of_sequences, share
from rollscope.catalog.spec import Alarm, Name, metric

AGES = 9  # 0 to 8 are always written, so a rank without such a sample counts in the denominator
_IN_FLIGHT = "counts weight updates during the sample's own request; the wait in the queue is not included"


@metric(
    "staleness",
    unit="updates",
    good="down",
    range=(0, None),
    example="version 10 now, samples begun at 10, 9 and 7: mean 1.33, max 3",
    names=(
        Name("verl", "training/off_policy/trajectory_staleness_worst/{mean,max,min}", versions=">=0.9"),
        Name("trl", "sample/staleness_{mean,max}", trainer="async_grpo"),
        Name("telescope", "off_policy_steps_{mean,std}", same=False, note=_IN_FLIGHT),
    ),
    alarms=(
        Alarm(
            "above",
            8.0,
            "watch",
            "prime-rl max_off_policy_steps 8; AReaL: 2 to 8 typical, above 10 monitor closely",
            "samples are older than eight updates",
            stat="max",
        ),
        Alarm(
            "above",
            10.0,
            "bad",
            "AReaL documentation: above 10 monitor closely",
            "the typical sample is older than ten updates",
            stat="mean",
        ),
    ),
)
def staleness(policy_version_now: Any, policy_version_min_S: Any) -> Distribution:
    """Age of a sample in updates, counted from the oldest weights that wrote it.

    Definition: policy_version_now - policy_version_min per sample, with `now` before this update,
    so on-policy is 0; pooled over all samples of the step, trained on or not.

    Read: Off-policy data needs correction and teaches less. A slow rise means that the trainer is
    faster than its rollouts, or the other way round.

    Check: time/waiting_for_data: who waits?; policy/kl_behaviour_k3: does it matter?; the limit on
    asynchrony.
    """
    return Distribution(policy_version_now - of_sequences(policy_version_min_S))


@metric(
    "staleness_newest",
    unit="updates",
    good="down",
    range=(0, None),
    example="version 10 now, the last token written by version 9: 1",
    names=(Name("verl", "training/off_policy/trajectory_staleness/{mean,max,min}", versions=">=0.9"),),
)
def staleness_newest(policy_version_now: Any, policy_version_max_S: Any) -> Distribution:
    """Age of a sample in updates, counted from the newest weights that wrote it.

    Definition: policy_version_now - policy_version_max per sample, with `now` before this update;
    pooled over all samples of the step.

    Read: Shows how long a finished sample waited for its update. If it is far below `staleness`,
    samples are long and span several versions.

    Check: staleness/mean; version_span/mean; the length of the queue.
    """
    return Distribution(policy_version_now - of_sequences(policy_version_max_S))


@metric(
    "version_span",
    unit="versions",
    good="down",
    range=(1, None),
    example="begun at version 7, ended at version 9: 3",
    names=(Name("verl", "training/off_policy/trajectory_spans/{mean,max,min}", versions=">=0.9"),),
)
def version_span(policy_version_min_S: Any, policy_version_max_S: Any) -> Distribution:
    """Number of weight versions that wrote a sample.

    Definition: policy_version_max - policy_version_min + 1 per sample, pooled over all samples of
    the step; 1 means that a single version wrote the sample.

    Read: Above 1, weights changed in the middle of an answer.

    Check: how the engine receives new weights; sample_time/generate/max; time between updates.
    """
    span = floats(policy_version_max_S) - floats(policy_version_min_S) + 1
    return Distribution(span[~np.isnan(span)])


@metric("staleness_off_policy", unit="share", good="down", range=(0, 1), example="staleness 0, 0, 1, 3: 0.5")
def off_policy(policy_version_now: Any, policy_version_min_S: Any) -> Ratio:
    """Share of samples that are not on-policy.

    Definition: samples with a staleness above 0, over samples whose version is known.

    Read: 0 in a synchronous run. Any other value there is a fault in weight transfer or in version
    counting.

    Check: staleness/max; the weight synchronisation.
    """
    version = floats(policy_version_min_S)
    return share(policy_version_now > version, ~np.isnan(version))


@metric(
    "staleness_at/{age}",
    unit="share",
    good="context",
    range=(0, 1),
    example="staleness 0, 0, 1, 3: staleness_at/0 0.5, staleness_at/1 0.25, staleness_at/3 0.25",
    names=(
        Name(
            "rlinf",
            "rollout/data_staleness_{age}/ratio",
            same=False,
            note="a share of cells (steps times environments), not of samples",
        ),
    ),
)
def staleness_at(policy_version_now: Any, policy_version_min_S: Any) -> dict[str, Ratio]:
    """Share of samples with one particular age.

    Definition: samples whose staleness is that number of updates, over samples whose version is
    known. Ages 0 to 8 are always written.

    Read: The distribution behind staleness/mean: a tail of old samples, or all samples one update
    late.

    Check: staleness/max; the order of the queue.
    """
    ages = policy_version_now - of_sequences(policy_version_min_S)
    return {f"{age:g}": share(ages == age) for age in np.union1d(ages, np.arange(AGES))}


@metric(
    "discarded/staleness",
    unit="updates",
    good="context",
    range=(0, None),
    example="discarded samples of ages 9 and 11: mean 10",
    names=(Name("telescope", "discarded_off_policy_steps_{mean,std}", same=False, note=_IN_FLIGHT),),
)
def discarded_staleness(
    policy_version_now: Any, policy_version_min_S: Any, trained_S: Any = None, discard_reason_S: Any = None
) -> Distribution | None:
    """Staleness of the samples that were discarded.

    Definition: policy_version_now - policy_version_min of the samples not trained on, pooled.
    Written only when the batch says which samples were trained on.

    Read: Just above the limit on asynchrony, a slightly higher limit would save these samples. Far
    above it, generation is too slow for the trainer.

    Check: discarded/reason/{reason}; staleness/max; the limit on asynchrony.
    """
    fate = fates(trained_S, discard_reason_S)
    if fate is None:
        return None
    return Distribution(policy_version_now - of_sequences(floats(policy_version_min_S)[fate[1]]))
