"""Perplexity of samples under trainer and engine, and mismatch numbers as veRL counts them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.comoments import EffectiveShare
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.moments import Moments, PopulationStd, Std
from rollscope.catalog.partials.partial import Max, Mean, Min, Partial
from rollscope.catalog.reported import trinity, verl
from rollscope.catalog.sequence import compared
from rollscope.catalog.spec import derived, metric


@derived
def logp_means_S(rollout_logp_A: Any, old_logp_A: Any, rows_A: Any) -> Any:
    """Mean log-probability of each sample's tokens under engine and trainer; NaN without tokens."""
    return ops.stack([ops.row_mean(rollout_logp_A, rows_A), ops.row_mean(old_logp_A, rows_A)])


_EMPTY = "veRL counts a sample without tokens as perplexity 1"


def _enter(name: str, meaning: str, *, formula: str, value: Any, read: str, unit: str, key: str) -> None:
    def define(logp_means_S: Any, completion_tokens_S: Any) -> Mean:
        return ops.mean(value(logp_means_S[completion_tokens_S > 0]))

    define.__doc__ = f"""{meaning}

    Definition: mean over sequences with a sampled token (action_mask) of {formula}.

    Read: {read}

    Check: mismatch/log_ppl_diff/mean; policy/kl_sampler_k3; mismatch/probs_diff/mean.
    """
    names = (verl(f"rollout_corr/{key}", note=_EMPTY), trinity(f"rollout_corr/{key}", note=_EMPTY))
    metric(
        f"mismatch/{name}",
        unit=unit,
        good="context" if "diff" not in name else "near zero",
        example="1.41" if "log" in name else "4.5",
        names=names,
    )(define)


_LEVEL = "Falls as the policy becomes more certain. The values of engine and trainer must stay close."
_enter(
    "ppl_trainer",
    "Perplexity of the samples under the trainer's policy before the update.",
    formula="exp(-mean of old_logp over its tokens)",
    value=lambda m: np.exp(-m[:, 1]),
    read=_LEVEL,
    unit="1",
    key="training_ppl",
)
_enter(
    "ppl_engine",
    "Perplexity of the samples under the engine that sampled them.",
    formula="exp(-mean of rollout_logp over its tokens)",
    value=lambda m: np.exp(-m[:, 0]),
    read=_LEVEL,
    unit="1",
    key="rollout_ppl",
)
_enter(
    "log_ppl_trainer",
    "Log-perplexity of the samples under the trainer's policy before the update.",
    formula="-mean of old_logp over its tokens",
    value=lambda m: -m[:, 1],
    read=_LEVEL,
    unit="nats/token",
    key="training_log_ppl",
)
_enter(
    "log_ppl_engine",
    "Log-perplexity of the samples under the engine that sampled them.",
    formula="-mean of rollout_logp over its tokens",
    value=lambda m: -m[:, 0],
    read=_LEVEL,
    unit="nats/token",
    key="rollout_log_ppl",
)
_enter(
    "log_ppl_diff_abs",
    "Absolute difference between the two log-perplexities.",
    formula="|mean rollout_logp - mean old_logp|",
    value=lambda m: np.abs(m[:, 0] - m[:, 1]),
    read="About 0.01. A drift means that the mismatch grows.",
    unit="nats/token",
    key="log_ppl_abs_diff",
)
_enter(
    "ppl_ratio",
    "Ratio of the two perplexities.",
    formula="exp(mean rollout_logp - mean old_logp)",
    value=lambda m: np.exp(m[:, 0] - m[:, 1]),
    read="1 when engine and trainer agree. Above 1, the samples surprise the trainer more than the engine.",
    unit="1",
    key="ppl_ratio",
)


@metric(
    "mismatch/log_ppl_diff",
    unit="nats/token",
    good="near zero",
    stats=("mean", "std", "min", "max"),
    example="mean 0.0001, min -0.034, max 0.030",
    names=tuple(
        name(f"rollout_corr/log_ppl_diff{end}", stat=stat, note="veRL counts a sample without tokens as 0")
        for name in (verl, trinity)
        for end, stat in (("", "mean"), ("_max", "max"), ("_min", "min"))
    ),
)
def log_ppl_diff(logp_means_S: Any, completion_tokens_S: Any) -> Distribution:
    """Difference between the two log-perplexities of a sequence.

    Definition: mean of rollout_logp minus mean of old_logp over a sequence's sampled tokens
    (action_mask); mean, standard deviation (ddof 1), minimum and maximum over sequences with at
    least one sampled token.

    Read: Minimum and maximum should both be near 0. A single sequence far from 0 was tokenised or
    truncated differently by engine and trainer.

    Check: that sample in the rollouts; chat template and tokeniser on both sides.
    """
    m = logp_means_S[completion_tokens_S > 0]
    return Distribution(m[:, 0] - m[:, 1], histogram=False)


@derived
def weight_rows_S(sampler_x_A: Any, weight_A: Any, rows_A: Any) -> Any:
    """Sum of the squared weights of each sample's tokens, with the log-ratio clamped to ±20."""
    w = ops.exp(ops.clip(sampler_x_A, -20.0, 20.0)) if ops.beyond(sampler_x_A, 20.0) else weight_A
    return ops.row_sum(w * w, rows_A)


@metric(
    "mismatch/rollout_corr/{statistic}",
    unit="mixed",
    good="context",
    example="chi2_seq 0.107",
    names=(verl("rollout_corr/{statistic}", override=True), trinity("rollout_corr/{statistic}", override=True)),
)
def rollout_corr(
    logp_means_S: Any, seq_log_weight_S: Any, weight_rows_S: Any, completion_tokens_S: Any
) -> dict[str, Partial]:
    """The mismatch statistics as veRL counts them, with samples without a token counted as zeros.

    Definition: over all samples: training_ppl, rollout_ppl, training_log_ppl, rollout_log_ppl,
    log_ppl_diff (with _max and _min), log_ppl_abs_diff and ppl_ratio are defined like
    mismatch/ppl_trainer and the entries beside it, except that a sample without a sampled token
    (action_mask) counts as log-perplexity 0; chi2_token and chi2_seq are mismatch/chi2_token and
    mismatch/chi2_seq with log-ratios clamped to ±20. Equal to those entries when no sample was
    aborted.

    Read: Use the other mismatch entries instead. These exist so that dashboards made for veRL keep
    working.

    Check: length/aborted.
    """
    m = np.nan_to_num(logp_means_S, nan=0.0)
    gap = m[:, 0] - m[:, 1]
    n = float(completion_tokens_S.sum())
    return {
        "training_ppl": ops.mean(np.exp(-m[:, 1])),
        "training_log_ppl": ops.mean(-m[:, 1]),
        "rollout_ppl": ops.mean(np.exp(-m[:, 0])),
        "rollout_log_ppl": ops.mean(-m[:, 0]),
        "log_ppl_diff": ops.mean(gap),
        "log_ppl_abs_diff": ops.mean(np.abs(gap)),
        "log_ppl_diff_max": Max.of(gap),
        "log_ppl_diff_min": Min.of(gap),
        "ppl_ratio": ops.mean(np.exp(gap)),
        "chi2_token": Mean(float(weight_rows_S.sum()) - n, n),
        "chi2_seq": ops.mean(np.expm1(2 * np.clip(seq_log_weight_S, -20.0, 20.0))),
    }


@derived
def weight_sums_S(weight_A: Any, rows_A: Any, is_cap: float) -> Any:
    """Sums of the weights of each sample's tokens: truncated, and not truncated."""
    return ops.stack([ops.row_sum(ops.minimum(weight_A, is_cap), rows_A), ops.row_sum(weight_A, rows_A)])


@metric(
    "mismatch/rollout_corr_weights/{statistic}",
    unit="mixed",
    good="context",
    example="rollout_is_seq_mean 0.93",
    names=(verl("rollout_corr/{statistic}", versions=">=0.9", override=True),),
)
def rollout_corr_weights(
    seq_log_weight_S: Any, weight_sums_S: Any, completion_tokens_S: Any, is_cap: float, is_level: str = "token"
) -> dict[str, Partial]:
    """Statistics of importance weights per sequence, as veRL counts them.

    Definition: the weight of a sequence is the mean of its tokens' truncated weights (is_level
    token), or min(exp(Σ old_logp - rollout_logp), is_cap) for all of its tokens (is_level
    sequence); a sample without a sampled token (action_mask) counts as 0. rollout_is_seq_mean, _std
    (ddof 1), _max, _min and _max_deviation (largest distance from 1) are statistics of these
    weights. _fraction_high and _low are the shares of samples whose weight before truncation (the
    mean of its tokens' weights, or the sequence's weight) is above is_cap or below 1 / is_cap. For
    is_level sequence there are also rollout_is_mean, _std (ddof 0) and _eff_sample_size over
    tokens, _max and _min before truncation, and _ratio_fraction_high and _low over samples.

    Read: Like mismatch/weight_truncated, per sequence. A minimum of 0 is an aborted sample, not a
    weight.

    Check: mismatch/seq_weight/max; length/aborted.
    """
    return (
        _token_level(weight_sums_S, completion_tokens_S, is_cap)
        if is_level == "token"
        else _sequence_level(seq_log_weight_S, completion_tokens_S, is_cap)
    )


def _token_level(sums: Any, tokens: Any, cap: float) -> dict[str, Partial]:
    some = (tokens > 0)[:, None]
    none = np.zeros(sums.shape) + (tokens * 0.0)[:, None]  # NaN stays NaN
    w, raw = np.divide(sums, tokens[:, None], out=none, where=some).T
    return _of_sequences(w, raw, cap)


def _sequence_level(logs: Any, tokens: Any, cap: float) -> dict[str, Partial]:
    raw = np.exp(np.clip(logs, -20.0, 20.0))
    w = np.minimum(raw, cap)
    n, total, square = float(tokens.sum()), float((w * tokens).sum()), float((w * w * tokens).sum())
    mean = total / n if n else 0.0
    none = tokens * 0.0  # NaN stays NaN
    return _of_sequences(np.where(tokens > 0, w, none), np.where(tokens > 0, raw, none), cap) | {
        "rollout_is_mean": Mean(total, n),
        "rollout_is_std": PopulationStd(n, mean, max(float((tokens * np.square(w - mean)).sum()), 0.0)),
        "rollout_is_eff_sample_size": EffectiveShare(n, total, square),
        "rollout_is_max": Max.of(raw),
        "rollout_is_min": Min.of(raw),
        "rollout_is_ratio_fraction_high": ops.share(raw > cap),
        "rollout_is_ratio_fraction_low": ops.share(raw < 1 / cap),
    }


def _of_sequences(w: Any, raw: Any, cap: float) -> dict[str, Partial]:
    return {
        "rollout_is_seq_mean": Moments.of(w),
        "rollout_is_seq_std": Std.of(w),
        "rollout_is_seq_max": Max.of(w),
        "rollout_is_seq_min": Min.of(w),
        "rollout_is_seq_max_deviation": Max.of(np.abs(w - 1)),
        "rollout_is_seq_fraction_high": compared(raw > cap, raw),
        "rollout_is_seq_fraction_low": compared(raw < 1 / cap, raw),
    }
