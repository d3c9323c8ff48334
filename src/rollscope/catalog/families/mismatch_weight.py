"""Importance weights as a trainer applies them, and samples rejected because of their mismatch."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.comoments import EffectiveShare
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import reported, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric


@derived
def truncated_A(weight_A: Any, is_cap: float) -> Any:
    return ops.minimum(weight_A, is_cap)


@metric(
    "mismatch/weight_truncated",
    unit="1",
    good="near one",
    range=(0.0, None),
    stats=("mean", "std", "std0", "min", "max"),
    example="cap 2: mean 0.998, max 2.0",
    names=(
        verl("rollout_corr/rollout_is_{mean,max,min}", versions=">=0.9", note="with rollout_is token"),
        verl("rollout_corr/rollout_is_std", stat="std0", note="with rollout_is token; ddof 0"),
        trl(
            "sampling/importance_sampling_ratio/{min,mean,max}",
            trainer="grpo",
            note="per token; in a sequence mode, policy ratios of sequences; the mean is the mean of the ranks' means",
        ),
    ),
)
def weight_truncated(truncated_A: Any, is_level: str = "token") -> Distribution | None:
    """Importance weight between trainer and engine after truncation. It multiplies a token's loss.

    Definition: min(exp(old_logp - rollout_logp), is_cap) over the tokens the policy sampled
    (action_mask): mean, standard deviation (ddof 1, and ddof 0 as std0), minimum and maximum. Not
    written when weights are per sequence (is_level).

    Read: The mean is below 1 by the amount that the cap takes away.

    Check: mismatch/weight/max, the value before truncation; mismatch/weight_high.
    """
    return Distribution(truncated_A, histogram=False) if is_level == "token" else None


@metric(
    "mismatch/weight_truncated_effective",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="0.99",
    names=(verl("rollout_corr/rollout_is_eff_sample_size", versions=">=0.9"),),
)
def weight_truncated_effective(truncated_A: Any, is_level: str = "token") -> EffectiveShare | None:
    """Effective share of the tokens under the truncated importance weights.

    Definition: (Σw)² / (n Σw²) with w = min(exp(old_logp - rollout_logp), is_cap) over the tokens
    the policy sampled (action_mask).

    Read: Higher than mismatch/weight_effective, because the cap evens the weights out. Below 0.3, a
    few tokens carry the update.

    Check: mismatch/weight_effective; mismatch/weight/max.
    """
    return EffectiveShare.of(truncated_A) if is_level == "token" else None


@metric(
    "mismatch/weight_high",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.01",
    names=(verl("rollout_corr/rollout_is_ratio_fraction_high", note="with rollout_is token"),),
)
def weight_high(weight_A: Any, is_cap: float, is_level: str = "token") -> Mean | None:
    """Share of tokens whose weight is cut at the cap.

    Definition: tokens the policy sampled (action_mask) with exp(old_logp - rollout_logp) > is_cap,
    divided by all of them.

    Read: These are rare tokens that the trainer finds more likely than the engine did. Do not alarm
    on it alone: it can fall while the gap grows.

    Check: mismatch/weight/p95; mismatch/weight_low.
    """
    return ops.share(weight_A > is_cap) if is_level == "token" else None


@metric(
    "mismatch/weight_low",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.01",
    names=(verl("rollout_corr/rollout_is_ratio_fraction_low", note="with rollout_is token"),),
)
def weight_low(weight_A: Any, is_cap: float, is_level: str = "token") -> Mean | None:
    """Share of tokens whose weight is below one over the cap.

    Definition: tokens the policy sampled (action_mask) with exp(old_logp - rollout_logp) < 1 /
    is_cap, divided by all of them.

    Read: These are tokens that the trainer finds much less likely than the engine did. Nothing
    truncates them.

    Check: mismatch/weight/p05; mismatch/weight_high.
    """
    return ops.share(weight_A < 1 / is_cap) if is_level == "token" else None


@derived
def rejected_rows_S(mask_A: Any, rows_A: Any) -> Any:
    """Number of each sample's sampled tokens that are not in the loss."""
    return ops.row_sum(mask_A == 0, rows_A)


@metric(
    "mismatch/rejected_tokens",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.05",
    names=(
        verl(
            "rollout_corr/rollout_rs_masked_fraction",
            note="equal if rejection is the only reason why a token is not in the loss",
        ),
        trinity("rollout_corr/rollout_rs_masked_fraction"),
        telescope(
            "seq_is_masked_frac", note="equal if that mask is the only reason; the value of one data-parallel rank"
        ),
    ),
)
def rejected_tokens(rejected_rows_S: Any, completion_tokens_S: Any) -> Mean:
    """Share of sampled tokens that are left out of the loss.

    Definition: tokens the policy sampled (action_mask) that are not in the loss (mask), divided by
    tokens the policy sampled. Overlong, rejected and filtered tokens count together.

    Read: These tokens are generated and not learned from. A rise together with mismatch means that
    rejection throws the step away.

    Check: mismatch/rejected_sequences; discarded/share; length/truncated.
    """
    return Mean(float(rejected_rows_S.sum()), float(completion_tokens_S.sum()))


@metric(
    "mismatch/rejected_sequences",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="6 of 15: 0.4",
    names=(
        verl(
            "rollout_corr/rollout_rs_seq_masked_fraction",
            note="veRL divides by all samples, including those without tokens",
        ),
        trinity("rollout_corr/rollout_rs_seq_masked_fraction"),
    ),
)
def rejected_sequences(rejected_rows_S: Any, completion_tokens_S: Any) -> Mean:
    """Share of sequences with a token left out of the loss.

    Definition: sequences with at least one sampled token (action_mask) that is not in the loss
    (mask), divided by sequences that have sampled tokens.

    Read: If whole sequences are rejected, this is the share of rollouts thrown away.

    Check: mismatch/rejected_tokens; mismatch/weight/max.
    """
    some = completion_tokens_S > 0
    return Mean(float((rejected_rows_S[some] > 0).sum()), float(some.sum()))


@derived
def seq_log_weight_S(sampler_x_A: Any, rows_A: Any) -> Any:
    return ops.row_sum(sampler_x_A, rows_A)


_TRUNCATED = (
    "of truncated weights; with rollout_is token, the mean over a sample's tokens; a sample without tokens "
    "counts as 0: mismatch/rollout_corr_weights"
)
_BEFORE = (
    "using the weight before truncation; with rollout_is token, the mean over a sample's tokens: "
    "mismatch/rollout_corr_weights"
)


@metric(
    "mismatch/seq_weight",
    unit="1",
    good="near one",
    range=(0.0, None),
    stats=("mean", "std", "min", "max"),
    example="mean 1.05, max 40",
    names=(
        verl("rollout_corr/rollout_is_seq_{mean,std,max,min}", same=False, note=_TRUNCATED),
        verl("rollout_corr/rollout_is_seq_max_deviation", same=False, note="largest distance from 1 " + _TRUNCATED),
        verl(
            "rollout_corr/rollout_is_seq_fraction_high", same=False, note="share of samples above the cap, " + _BEFORE
        ),
        verl("rollout_corr/rollout_is_seq_fraction_low", same=False, note="share of samples below 1 / cap, " + _BEFORE),
    ),
    alarms=(
        Alarm(
            "above",
            2.0,
            "watch",
            "veRL docs/algo/rollout_corr.md: is_mean above 2",
            says="whole sequences disagree",
            stat="mean",
        ),
    ),
)
def seq_weight(seq_log_weight_S: Any, completion_tokens_S: Any) -> Distribution:
    """Importance weight of whole sequences between trainer and engine.

    Definition: exp of the sum of old_logp - rollout_logp over a sequence's sampled tokens
    (action_mask): mean, standard deviation (ddof 1), minimum and maximum over sequences with at
    least one sampled token. Not truncated.

    Read: The spread grows exponentially with length: tiny gaps per token add up over thousands of
    tokens.

    Check: mismatch/weight/std; length/completion/mean.
    """
    return Distribution(np.exp(seq_log_weight_S[completion_tokens_S > 0]), histogram=False)


@metric(
    "mismatch/chi2_seq",
    unit="1",
    good="near zero",
    example="0.11",
    names=(
        verl("rollout_corr/chi2_seq", note="log-ratios are clamped to ±20, and a sample without tokens counts as 0"),
        trinity("rollout_corr/chi2_seq"),
    ),
)
def chi2_seq(seq_log_weight_S: Any, completion_tokens_S: Any) -> Mean:
    """Chi-squared divergence between trainer and engine, per sequence.

    Definition: mean over sequences with a sampled token (action_mask) of W² - 1, W = exp of the sum
    of old_logp - rollout_logp.

    Read: The variance of the sequence weights. With growing length it explodes long before single
    tokens look wrong.

    Check: mismatch/chi2_token; mismatch/seq_weight/max.
    """
    return ops.mean(np.expm1(2 * seq_log_weight_S[completion_tokens_S > 0]))


reported(
    "mismatch/weight_norm_factor",
    meaning="Number by which importance weights were divided so that their mean is 1.",
    definition=(
        "mean of the truncated weights of the batch, over tokens or over sequences according to "
        "rollout_is; 1 if that mean is 0."
    ),
    read="If it is far from 1, normalisation hides a mismatch that the weights would show.",
    check="mismatch/weight/mean; mismatch/chi2_token",
    unit="1",
    good="near one",
    example="0.98",
    range=(0.0, None),
    names=(verl("rollout_corr/rollout_is_batch_norm_factor"),),
)
reported(
    "mismatch/weight_dropped",
    meaning="Share of tokens whose importance weight IcePop sets to zero.",
    definition=(
        "tokens the policy sampled whose weight lies outside the lower and upper bound, divided by all of them."
    ),
    read="These tokens are generated and not learned from.",
    check="mismatch/weight/p95; mismatch/weight_low",
    unit="share",
    good="down",
    example="0.02",
    range=(0.0, 1.0),
    names=(verl("rollout_corr/rollout_is_oob_ratio", versions=">=0.9"),),
)
