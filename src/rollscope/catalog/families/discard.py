"""Samples that were generated and not trained on: how many, why, and which.

The denominator is every generated sample that was marked as trained or discarded, so that no sample
is missing. Each scoped entry also has its statistics over discarded samples, under `discarded/...`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.group_statistics import SAME
from rollscope.catalog.partials.partial import Mean, Ratio, Sum
from rollscope.catalog.sequence import Bools, fates, floats, reward_bounds, share, words
from rollscope.catalog.spec import Name, derived, metric

_OF_DISCARDED = "divided by the discarded samples; ours is divided by all generated samples, see discarded/of_discarded"


@derived
def fate_S(trained_S: Any = None, discard_reason_S: Any = None) -> Any:
    """Two flags per sample: trained on, and discarded. None if the batch does not say."""
    return fates(trained_S, discard_reason_S)


# Always written if the batch marks samples: a share of 0 is visible, and a rank without such a
# sample still counts in the denominator.
REASONS = (
    *(
        "zero_advantage",
        "max_async",
        "stale",
        "off_policy",
        "filtered",
        "overlong",
        "prompt_too_long",
        "empty",
        "error",
        "cancelled",
        "surplus",
        "unsaid",
    ),
    *("rollout_error", "sample_error", "empty_trajectory"),  # Telescope's words
)


def _reasons(fate: tuple[Bools, Bools], discard_reason: Any) -> dict[str, Bools]:
    """The discarded samples of each reason; samples without a reason are under `unsaid`."""
    each = np.array(["" for _ in fate[1]] if discard_reason is None else words(discard_reason), object)
    each = np.where(each == "", "unsaid", each)
    return {str(reason): fate[1] & (each == reason) for reason in sorted(set(each[fate[1]].tolist()))}


@metric(
    "discarded/share",
    unit="share",
    good="down",
    range=(0, 1),
    example="8 samples generated, 2 of them discarded: 0.25",
)
def discarded_share(fate_S: Any) -> Ratio | None:
    """Share of generated samples that were not trained on.

    Definition: discarded samples over all samples marked as trained or discarded in this step.

    Read: These samples were paid for and thrown away. Statistics of `trained` samples leave them
    out: the larger this share, the less those statistics say about the policy.

    Check: discarded/reason/{reason}; reward/generated/mean compared with reward/trained/mean;
    group/zero_spread.
    """
    return None if fate_S is None else share(fate_S[1], fate_S[0] | fate_S[1])


@metric(
    "discarded/reason/{reason}",
    unit="share",
    good="context",
    range=(0, 1),
    example="of 8 generated samples 2 were discarded for zero_advantage: 0.25",
    names=(
        Name("telescope", "discarded_zero_advantage_pct", scale=100.0, same=False, note=_OF_DISCARDED),
        Name("telescope", "discarded_max_async_pct", scale=100.0, same=False, note=_OF_DISCARDED),
    ),
)
def reason(fate_S: Any, discard_reason_S: Any = None) -> dict[str, Ratio] | None:
    """Share of generated samples discarded for one reason.

    Definition: discarded samples with that reason over all samples marked as trained or discarded
    in this step. Discarded samples without a reason are counted under `unsaid`. The usual reasons
    are always written. Any other reason is written when it occurs, over the parts of the step in
    which it occurs.

    Read: zero_advantage points to the difficulty of the data, max_async to the balance of the
    machines, errors to the environment.

    Check: group/all_pass and group/all_fail for zero_advantage; staleness/max for max_async;
    stop/error for errors.
    """
    if fate_S is None:
        return None
    flags, nothing = _reasons(fate_S, discard_reason_S), np.zeros(len(fate_S[1]), bool)
    return {name: share(flags.get(name, nothing), fate_S[0] | fate_S[1]) for name in dict.fromkeys((*REASONS, *flags))}


@metric(
    "discarded/count",
    unit="samples",
    good="down",
    range=(0, None),
    example="8 samples generated, 2 of them discarded: 2",
    names=(Name("telescope", "discarded_count"),),
)
def discarded_count(fate_S: Any) -> Sum | None:
    """Samples discarded in this step.

    Definition: number of samples marked as not trained on.

    Read: Compare with samples/generated.

    Check: discarded/share; discarded/reason/{reason}.
    """
    return None if fate_S is None else Sum(float(fate_S[1].sum()), float((fate_S[0] | fate_S[1]).sum()))


@metric(
    "discarded/count/cancelled",
    unit="samples",
    good="down",
    range=(0, None),
    example="one sample with discard reason cancelled: 1",
    names=(
        Name(
            "telescope",
            "canceled_count",
            same=False,
            note="always 0: the dashboard counts an event that the trainer never writes",
        ),
    ),
)
def cancelled_count(fate_S: Any, discard_reason_S: Any) -> Sum | None:
    """Samples cancelled before they were finished.

    Definition: discarded samples whose reason is cancelled or canceled.

    Read: This work was stopped half way, usually because it had become too old.

    Check: staleness/max; discarded/reason/{reason}.
    """
    if fate_S is None:
        return None
    flags = _reasons(fate_S, discard_reason_S)
    cancelled = sum(flags[word].sum() for word in ("cancelled", "canceled") if word in flags)
    return Sum(float(cancelled), float((fate_S[0] | fate_S[1]).sum()))


def _of_discarded(fate: tuple[Bools, Bools] | None, discard_reason: Any, word: str) -> Ratio | None:
    return None if fate is None else share(_reasons(fate, discard_reason).get(word, np.zeros_like(fate[1])), fate[1])


@metric(
    "discarded/of_discarded/zero_advantage",
    unit="share",
    good="context",
    range=(0, 1),
    example="of 4 discarded samples 3 had zero advantage: 0.75",
    names=(Name("telescope", "discarded_zero_advantage_pct", scale=100.0),),
)
def of_discarded_zero_advantage(fate_S: Any, discard_reason_S: Any) -> Ratio | None:
    """Share of the discarded samples that were discarded for zero advantage.

    Definition: discarded samples with reason zero_advantage over discarded samples.

    Read: Shows which reasons make up the discards. For how much is lost, read
    discarded/reason/zero_advantage.

    Check: discarded/share; group/zero_spread.
    """
    return _of_discarded(fate_S, discard_reason_S, "zero_advantage")


@metric(
    "discarded/of_discarded/max_async",
    unit="share",
    good="context",
    range=(0, 1),
    example="of 4 discarded samples 1 was too old: 0.25",
    names=(Name("telescope", "discarded_max_async_pct", scale=100.0),),
)
def of_discarded_max_async(fate_S: Any, discard_reason_S: Any) -> Ratio | None:
    """Share of the discarded samples that were discarded because they were too old.

    Definition: discarded samples with reason max_async over discarded samples.

    Read: Shows which reasons make up the discards. For how much is lost, read
    discarded/reason/max_async.

    Check: discarded/share; staleness/max.
    """
    return _of_discarded(fate_S, discard_reason_S, "max_async")


def _flat(fate: Any, reward: Any, discard_reason: Any) -> Bools | None:
    """The samples with a reward that were discarded for zero advantage."""
    if fate is None:
        return None
    discarded = _reasons(fate, discard_reason).get("zero_advantage", np.zeros_like(fate[1]))
    flat: Bools = discarded & ~np.isnan(floats(reward))
    return flat


@metric(
    "discarded/zero_advantage/all_zero",
    unit="share",
    good="context",
    range=(0, 1),
    example="zero-advantage samples with rewards 0, 0, 0, 1: 0.75",
    names=(
        Name(
            "telescope",
            "discarded_zero_advantage_all_zero_pct",
            scale=100.0,
            note="compares with 0, not with the declared minimum",
        ),
    ),
)
def all_zero(
    fate_S: Any,
    reward_S: Any,
    discard_reason_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> Ratio | None:
    """Share of the samples discarded for zero advantage that earned nothing.

    Definition: samples with discard reason zero_advantage and a reward at the declared minimum (0
    if no minimum is declared), over samples with that reason and a reward.

    Read: Near 1, the discarded prompts are out of reach or the scorer fails. Near 0, they are
    solved.

    Check: group/all_fail; discarded/zero_advantage/all_positive; length/truncated.
    """
    flat = _flat(fate_S, reward_S, discard_reason_S)
    if flat is None:
        return None
    low, high = reward_bounds(reward_S, reward_min_S, reward_max_S, reward_ranges, env_S)
    bottom = np.where(np.isnan(low), 0.0, low)
    return share(np.abs(floats(reward_S) - bottom) <= SAME * np.where(high > low, high - low, 1.0), flat)


@metric(
    "discarded/zero_advantage/all_positive",
    unit="share",
    good="context",
    range=(0, 1),
    example="zero-advantage samples with rewards 0, 0, 0, 1: 0.25",
    names=(
        Name(
            "telescope",
            "discarded_zero_advantage_all_positive_pct",
            scale=100.0,
            note="compares with 0, not with the declared minimum",
        ),
    ),
)
def all_positive(
    fate_S: Any,
    reward_S: Any,
    discard_reason_S: Any,
    reward_min_S: Any = None,
    reward_max_S: Any = None,
    reward_ranges: Any = None,
    env_S: Any = None,
) -> Ratio | None:
    """Share of the samples discarded for zero advantage that earned something.

    Definition: samples with discard reason zero_advantage and a reward above the declared minimum
    (above 0 if no minimum is declared), over samples with that reason and a reward.

    Read: Near 1, the discarded prompts are solved: the data has become too easy.

    Check: group/all_pass; discarded/zero_advantage/all_zero.
    """
    flat = _flat(fate_S, reward_S, discard_reason_S)
    if flat is None:
        return None
    low, high = reward_bounds(reward_S, reward_min_S, reward_max_S, reward_ranges, env_S)
    bottom = np.where(np.isnan(low), 0.0, low)
    return share(floats(reward_S) - bottom > SAME * np.where(high > low, high - low, 1.0), flat)


@metric(
    "discarded/zero_advantage/reward",
    unit="reward",
    good="context",
    example="zero-advantage samples with rewards 0, 0, 0, 1: 0.25",
    names=(Name("telescope", "discarded_zero_advantage_mean_reward"),),
)
def zero_advantage_reward(fate_S: Any, reward_S: Any, discard_reason_S: Any) -> Mean | None:
    """Mean reward of the samples discarded for zero advantage.

    Definition: mean over samples with discard reason zero_advantage and a reward.

    Read: Compare with reward/trained/mean. If it is far above, solved prompts are missing from the
    training curve; if it is far below, hopeless ones are.

    Check: group/all_pass and group/all_fail; reward/generated/mean.
    """
    flat = _flat(fate_S, reward_S, discard_reason_S)
    return None if flat is None else Mean.of(floats(reward_S)[flat])
