"""Advantages, one per sample. critic.py has the token-level ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.ops import Rows, row_mean
from rollscope.catalog.partials.partial import Ratio
from rollscope.catalog.sequence import floats, of_sequences, share
from rollscope.catalog.spec import Alarm, Name, derived, metric


@derived
def advantages_S(advantages_M: Any, rows_M: Rows) -> Any:
    """A sample's mean advantage over its tokens in the loss; NaN without such a token."""
    return row_mean(advantages_M, rows_M)


@metric(
    "advantage_sample",
    unit="advantage",
    good="near zero",
    scoped=True,
    example="advantages 1, -1, 0.5, -0.5: mean 0, std 0.913",
    names=(
        Name(
            "telescope",
            "advantage_{mean,std,min,max}",
            note="the value computed per group, even if the trainer whitens it over the batch afterwards",
        ),
        Name("telescope", "discarded_advantage_{mean,std,min,max}", scope="discarded"),
        Name("trl", "advantage", trainer="a2po", stat="mean", same=False, note="the mean of a single process"),
    ),
    alarms=(
        Alarm(
            "outside",
            (-10.0, 10.0),
            "watch",
            "Andy Jones, debugging RL: within +-10, ideally +-3",
            "one advantage is enormous: is the spread of a group nearly 0?",
            stat="max",
        ),
    ),
)
def advantage_sample(advantages_S: Any) -> Distribution:
    """Advantage of a sample.

    Definition: the one advantage a sample was given, or the mean of its token advantages over the
    tokens in the loss. Every sample counts once, whatever its length. Samples without an advantage
    (NaN) are not counted.

    Read: Normalised within groups, it lies within +- sqrt(group size - 1). The mean is near 0 by
    construction, so read the spread: a spread near 0 leaves nothing to learn.

    Check: group/reward_std/min: are advantages divided by a tiny spread?;
    advantage_sample/zero_share; advantage/mean, which weights long samples more.
    """
    return Distribution(of_sequences(advantages_S))


@metric(
    "advantage_sample/zero_share",
    unit="share",
    good="down",
    range=(0, 1),
    scoped=True,
    example="advantages 0, 0, 1, -1: 0.5",
    alarms=(
        Alarm(
            "above",
            0.5,
            "bad",
            "miles advisory.py:31, its limit for groups without spread",
            "half of the samples teach nothing",
        ),
    ),
)
def zero_share(advantages_S: Any) -> Ratio:
    """Share of samples whose advantage is exactly 0.

    Definition: samples with advantage 0 over samples with an advantage.

    Read: These samples are in the batch and give no gradient. In group-based algorithms it follows
    group/zero_spread.

    Check: group/zero_spread; discarded/reason/zero_advantage: are such samples dropped?
    """
    x = floats(advantages_S)
    return share(x == 0, ~np.isnan(x))


@metric(
    "advantage_sample/positive_share",
    unit="share",
    good="context",
    range=(0, 1),
    scoped=True,
    example="advantages 0, 0, 1, -1: 0.25",
)
def positive_share(advantages_S: Any) -> Ratio:
    """Share of samples whose advantage is above 0.

    Definition: samples with a positive advantage over samples with an advantage.

    Read: Below one half, successes are rare: a few samples are pushed up strongly and many are
    pushed down weakly. Above one half, failures are rare.

    Check: group/reward_gini; policy/clip/high and policy/clip/low.
    """
    x = floats(advantages_S)
    return share(x > 0, ~np.isnan(x))
