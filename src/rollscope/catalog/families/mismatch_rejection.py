"""Rejection of tokens or sequences on which engine and trainer disagree, as veRL 0.9 measures it.

Rejection compares a KL estimate of d = old_logp - rollout_logp with two bounds, per token
(`token_k1`) or per sequence (`seq_sum_k3`, `seq_mean_k1`, `seq_max_k2`). Bounds for k1 are ratios.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.moments import Moments, PopulationStd, Std
from rollscope.catalog.partials.partial import Max, Mean, Min, Partial
from rollscope.catalog.reported import trinity, verl
from rollscope.catalog.sequence import known
from rollscope.catalog.spec import derived, metric

key(
    "rs_option",
    "word",
    "the value that rejection compares: token_k1..3, seq_sum_k1..3, seq_mean_k1..3, seq_max_k2, seq_max_k3",
)
key("rs_low", "step", "lower bound of rejection; a ratio for k1")
key("rs_high", "step", "upper bound of rejection; a ratio for k1")
key("sum_pi_squared", "token", "Σ over the vocabulary of the squared probabilities at each token")


def _estimate(x: Any, estimator: str) -> Any:
    return {"k1": lambda: -x, "k2": lambda: x * x / 2, "k3": lambda: ops.expm1(x) - x}[estimator]()


def _bounds(option: str, low: float | None, high: float) -> tuple[float, float]:
    if option.endswith("k1"):
        return math.log(low or 1 / high), math.log(high)
    return (0.0 if low is None else low), high


@derived
def rejection_rows_S(sampler_x_A: Any, rows_A: Any, rs_option: str, rs_high: float, rs_low: float | None = None) -> Any:
    """One row per sample: its value, then, for token options only, statistics of its tokens.

    Those are the sum and the sum of squares of the clamped value, the counts above and below the
    bounds, and the highest and lowest value.
    """
    level, _, rest = rs_option.partition("_")
    how, _, estimator = rest.rpartition("_")
    x = _estimate(sampler_x_A, estimator)
    if level == "seq":
        return ops.stack([{"sum": ops.row_sum, "mean": ops.row_mean, "max": ops.row_max}[how](x, rows_A)])
    low, high = _bounds(rs_option, rs_low, rs_high)
    held = ops.clip(x, low, high)
    return ops.stack(
        [
            ops.row_mean(x, rows_A),
            ops.row_sum(held, rows_A),
            ops.row_sum(held * held, rows_A),
            ops.row_sum(x > high, rows_A),
            ops.row_sum(x < low, rows_A),
            ops.row_max(x, rows_A),
            -ops.row_max(-x, rows_A),
        ]
    )


@metric(
    "mismatch/rejection/{statistic}",
    unit="mixed",
    good="context",
    example="token_k1_masked_fraction 0.057",
    names=(verl("rollout_corr/rollout_rs_{statistic}"), trinity("rollout_corr/rollout_rs_{statistic}")),
)
def rejection(
    rejection_rows_S: Any, completion_tokens_S: Any, rs_option: str, rs_high: float, rs_low: float | None = None
) -> dict[str, Partial]:
    """The values that rejection by mismatch compares, and the share it throws away.

    Definition: over the tokens the policy sampled (action_mask), or the sequences that have such
    tokens, depending on rs_option. The value v is k1 = rollout_logp - old_logp, k2 or k3 of a
    token, or the sum, mean or maximum over a sequence, which then applies to all of its tokens.
    {option}_mean, _max, _min: over tokens. _std: of v clamped to the bounds (ddof 0).
    _fraction_high and _low: share of tokens (sequences, for a sequence option) beyond a bound.
    _seq_mean, _seq_std (ddof 1), _seq_max, _seq_min, _seq_max_deviation (largest |v|),
    _seq_fraction_high and _low: over sequences. _masked_fraction and _seq_masked_fraction: share of
    tokens thrown away, and of sequences that lose a token. masked_fraction and seq_masked_fraction
    are the same numbers without an option in the name; seq_masked_fraction is divided by all
    samples, including those without tokens.

    Read: Shows how much of a step rejection costs. A rising share means that the mismatch grows,
    but a falling share does not mean that it shrinks.

    Check: mismatch/weight/p95; policy/kl_sampler_k3.
    """
    low, high = _bounds(rs_option, rs_low, rs_high)
    some = completion_tokens_S > 0
    rows, tokens = rejection_rows_S[some], completion_tokens_S[some]
    if rs_option.startswith("token"):
        of_tokens, lost = _of_tokens(rows, tokens)
    else:
        of_tokens, lost = _of_sequences(rows[:, 0], tokens, low, high)
    v = rows[:, 0]
    of_option: dict[str, Partial] = of_tokens | {
        "masked_fraction": Mean(float(lost.sum()), float(tokens.sum())),
        "seq_mean": Moments.of(v),
        "seq_std": Std.of(v),
        "seq_max": Max.of(v),
        "seq_min": Min.of(v),
        "seq_max_deviation": Max.of(np.abs(v)),
        "seq_fraction_high": ops.share(v > high),
        "seq_masked_fraction": ops.share(lost > 0),
    }
    if rs_option.endswith("k1"):
        of_option["seq_fraction_low"] = ops.share(v < low)
    everything: dict[str, Partial] = {f"{rs_option}_{name}": partial for name, partial in of_option.items()}
    return everything | {
        "masked_fraction": of_option["masked_fraction"],
        "seq_masked_fraction": Mean(float((lost > 0).sum()), float(np.count_nonzero(known(completion_tokens_S)))),
    }


def _of_tokens(rows: Any, tokens: Any) -> tuple[dict[str, Partial], Any]:
    n = float(tokens.sum())
    mean = float(rows[:, 1].sum()) / n if n else 0.0
    partials: dict[str, Partial] = {
        "mean": Mean(float((rows[:, 0] * tokens).sum()), n),
        "std": PopulationStd(n, mean, max(float(rows[:, 2].sum()) - n * mean * mean, 0.0)),
        "max": Max.of(rows[:, 5]),
        "min": Min.of(rows[:, 6]),
        "fraction_high": Mean(float(rows[:, 3].sum()), n),
        "fraction_low": Mean(float(rows[:, 4].sum()), n),
    }
    return partials, rows[:, 3] + rows[:, 4]


def _of_sequences(v: Any, tokens: Any, low: float, high: float) -> tuple[dict[str, Partial], Any]:
    n, held = float(tokens.sum()), np.clip(v, low, high)
    mean = float((held * tokens).sum()) / n if n else 0.0
    partials: dict[str, Partial] = {
        "mean": Mean(float((v * tokens).sum()), n),
        "std": PopulationStd(n, mean, float((tokens * np.square(held - mean)).sum())),
        "max": Max.of(v),
        "min": Min.of(v),
        "fraction_high": ops.share(v > high),
        "fraction_low": ops.share(v < low),
    }
    return partials, np.where((v > high) | (v < low), tokens, 0)
