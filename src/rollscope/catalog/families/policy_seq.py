"""Ratios of whole sequences: GSPO's, normalised by length, and the plain product.

Entries that count sequences have `seq` in their name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import trinity, trl
from rollscope.catalog.spec import Alarm, derived, metric


@derived
def seq_log_ratio_S(update_x_M: Any, rows_M: Any) -> Any:
    """Mean log-ratio of each sample's tokens in the loss; NaN without such tokens."""
    return ops.row_mean(update_x_M, rows_M)


@derived
def seq_advantage_S(advantages_M: Any, rows_M: Any) -> Any:
    return ops.row_mean(advantages_M, rows_M)


@derived
def seq_shift_S(seq_log_ratio_S: Any, tokens_M_S: Any, ratio_level: str) -> Any:
    """Sequence ratio minus one: geometric mean (sequence, GSPO) or product (sequence_sum, RLOO)."""
    return np.expm1(seq_log_ratio_S * (tokens_M_S if ratio_level == "sequence_sum" else 1))


@metric(
    "policy/seq_ratio",
    unit="1",
    good="near one",
    range=(0.0, None),
    example="mean 1.0003, max 1.02",
    alarms=(
        Alarm(
            "outside",
            (0.9, 1.1),
            "watch",
            "GSPO's epsilons are of the order 1e-4 to 1e-3: a sequence far outside moved as a whole",
            says="whole sequences move",
            stat="mean",
        ),
    ),
)
def seq_ratio(seq_log_ratio_S: Any, tokens_M_S: Any) -> Distribution:
    """How much more likely the update made a sequence, per token: GSPO's ratio.

    Definition: exp of the mean of logp - old_logp over a sequence's tokens in the loss (mask);
    statistics over sequences with at least one token in the loss.

    Read: Much closer to 1 than token ratios, so its clip range is much narrower.

    Check: policy/seq_clip/region; policy/ratio/mean.
    """
    return Distribution(np.exp(seq_log_ratio_S[tokens_M_S > 0]))


@metric(
    "policy/seq_ratio_product",
    unit="1",
    good="near one",
    range=(0.0, None),
    stats=("mean", "std", "min", "max"),
    example="200 tokens at ratio 1.01: 7.3",
)
def seq_ratio_product(seq_log_ratio_S: Any, tokens_M_S: Any) -> Distribution:
    """How much more likely the update made a whole sequence: the ratio that RLOO clips.

    Definition: exp of the sum of logp - old_logp over a sequence's tokens in the loss (mask); mean,
    standard deviation (ddof 1), minimum and maximum over sequences with at least one token in the
    loss.

    Read: The spread grows exponentially with length. One sequence can dominate the mean.

    Check: policy/seq_ratio/mean; length/completion/max.
    """
    some = tokens_M_S > 0
    return Distribution(np.exp(seq_log_ratio_S[some] * tokens_M_S[some]), histogram=False)


@derived
def seq_clipped_S(seq_shift_S: Any, seq_advantage_S: Any, clip_low: float, clip_high: float) -> Any:
    """-1 for a sequence held back at the lower bound, 1 at the upper bound, otherwise 0."""
    low = (seq_shift_S < -clip_low) & (seq_advantage_S < 0)
    high = (seq_shift_S > clip_high) & (seq_advantage_S > 0)
    return high.astype(np.int64) - low.astype(np.int64)


_TRL = "grpo,async_grpo"  # if importance_sampling_level is sequence; RLOO has no other level


@metric(
    "policy/seq_clip/low",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="1 of 64 sequences: 0.0156",
    names=(
        trl("clip_ratio/low_mean", trainer="rloo"),
        trl("clip_ratio/low_mean", trainer=_TRL, override=True),
        trl(
            "clip_ratio/low_min",
            trainer="rloo",
            same=False,
            note=(
                "1 if every sequence of a batch is held back at the lower bound, otherwise 0; averaged "
                "since the last log"
            ),
        ),
    ),
)
def seq_clip_low(seq_clipped_S: Any, tokens_M_S: Any, ratio_level: str) -> Mean | None:
    """Share of sequences held back at the lower bound.

    Definition: sequences with a token in the loss (mask) whose ratio is below 1 - clip_low while
    their advantage is negative, divided by all sequences with a token in the loss. The ratio
    depends on ratio_level: per token for sequence (GSPO), the product for sequence_sum (RLOO).

    Read: Like policy/clip/low, for sequences. No token of such a sequence has a gradient.

    Check: policy/seq_clip/high; policy/seq_ratio/min.
    """
    return None if ratio_level == "token" else ops.share(seq_clipped_S[tokens_M_S > 0] < 0)


@metric(
    "policy/seq_clip/high",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="2 of 64 sequences: 0.031",
    names=(
        trl("clip_ratio/high_mean", trainer="rloo"),
        trl("clip_ratio/high_mean", trainer=_TRL, override=True),
        trl(
            "clip_ratio/high_max",
            trainer="rloo",
            same=False,
            note=(
                "1 if any sequence of a batch is held back at the upper bound, otherwise 0; averaged since the last log"
            ),
        ),
    ),
)
def seq_clip_high(seq_clipped_S: Any, tokens_M_S: Any, ratio_level: str) -> Mean | None:
    """Share of sequences held back at the upper bound.

    Definition: sequences with a token in the loss (mask) whose ratio (according to ratio_level) is
    above 1 + clip_high while their advantage is positive, divided by all sequences with a token in
    the loss.

    Read: Like policy/clip/high, for sequences.

    Check: policy/seq_clip/low; policy/seq_ratio/max.
    """
    return None if ratio_level == "token" else ops.share(seq_clipped_S[tokens_M_S > 0] > 0)


@metric(
    "policy/seq_clip/region",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="10 of 64 sequences: 0.156",
    names=(
        trl("clip_ratio/region_mean", trainer="rloo"),
        trl("clip_ratio/region_mean", trainer=_TRL, override=True),
        trinity(
            "actor/pg_clipfrac",
            trainer="gspo",
            same=False,
            note="counts the tokens of clipped sequences, so long sequences weigh more: policy/clip/configured",
        ),
    ),
)
def seq_clip_region(seq_clipped_S: Any, tokens_M_S: Any, ratio_level: str) -> Mean | None:
    """Share of sequences that the clip holds back.

    Definition: policy/seq_clip/low and policy/seq_clip/high together. Counts sequences, not tokens.

    Read: GSPO clips far more than token-level losses do, often a tenth or more, and still learns.
    RLOO's products leave the range through length alone.

    Check: the epsilons, which must suit the ratio level; policy/seq_ratio/p95.
    """
    return None if ratio_level == "token" else ops.share(seq_clipped_S[tokens_M_S > 0] != 0)


@metric(
    "policy/seq_kl_update_k1",
    unit="nats/token",
    good="near zero",
    example="0.002",
    names=(trinity("actor/ppo_kl_seq", trainer="gspo"),),
)
def seq_kl_update(seq_log_ratio_S: Any, tokens_M_S: Any) -> Mean:
    """How far the update moved the policy, each sequence counting once.

    Definition: mean over sequences with a token in the loss (mask) of minus the sequence's mean
    log-ratio, logp - old_logp.

    Read: Compare with policy/kl_update_k1: a difference means that long and short answers moved
    differently.

    Check: policy/kl_update_k1; length/completion/mean.
    """
    return ops.mean(-seq_log_ratio_S[tokens_M_S > 0])
