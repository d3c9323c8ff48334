"""Noise of the policy gradient, estimated without a second backward pass (veRL's proxies)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.comoments import PureNoise
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import verl
from rollscope.catalog.spec import derived, metric


@derived
def score_norm_S(old_logp_A: Any, sum_pi_squared_A: Any, rows_A: Any) -> Any:
    """W of each sample: Σ over its tokens of 1 - 2 π + Σ_v π_v².

    This is the squared norm of the score with respect to the logits.
    """
    return ops.row_sum(1 - 2 * ops.exp(old_logp_A) + sum_pi_squared_A, rows_A)


@derived
def mean_advantage_S(advantages_A: Any, rows_A: Any) -> Any:
    return ops.row_mean(advantages_A, rows_A)


def _filled(x: Any) -> Any:
    return np.nan_to_num(x, nan=0.0)


@metric(
    "policy/variance/score_norm",
    unit="1",
    good="context",
    range=(0.0, None),
    example="3.7",
    names=(verl("variance_proxy/expected_w"),),
)
def expected_w(score_norm_S: Any) -> Mean:
    """How strongly a sample can change the logits.

    Definition: mean over all samples of W = Σ_t (1 - 2 π(token) + Σ_v π(v)²), with π from old_logp
    and Σ_v π² from sum_pi_squared. A sample without a sampled token (action_mask) counts as 0.

    Read: Grows with length and with uncertainty.

    Check: length/completion/mean; policy/entropy.
    """
    return ops.mean(score_norm_S)


@metric(
    "policy/variance/advantage_squared",
    unit="1",
    good="context",
    range=(0.0, None),
    example="0.63",
    names=(verl("variance_proxy/expected_a_squared"),),
)
def expected_a_squared(mean_advantage_S: Any) -> Mean:
    """Mean squared advantage of a sample.

    Definition: mean over all samples of the square of a sample's mean advantage over its sampled
    tokens. A sample without a sampled token (action_mask) counts as 0.

    Read: Near 1 when advantages are normalised; 0 when nothing is learned.

    Check: advantage/std; group/zero_spread.
    """
    return ops.mean(np.square(_filled(mean_advantage_S)))


@metric(
    "policy/variance/total_power",
    unit="1",
    good="context",
    range=(0.0, None),
    example="2.0",
    names=(verl("variance_proxy/proxy2_total_power"),),
)
def total_power(score_norm_S: Any, mean_advantage_S: Any) -> Mean:
    """Mean squared size of one sample's gradient, signal and noise together.

    Definition: mean over all samples of (mean advantage)² · W, with W as in
    policy/variance/score_norm. A sample without a sampled token (action_mask) counts as 0.

    Read: Compare with policy/variance/signal: the closer the two are, the less noise there is.

    Check: policy/variance/pure_noise; batch size.
    """
    return ops.mean(np.square(_filled(mean_advantage_S)) * score_norm_S)


@metric(
    "policy/variance/signal",
    unit="1",
    good="context",
    range=(0.0, None),
    example="0.56",
    names=(verl("variance_proxy/proxy1_signal_strength"),),
)
def signal(grad_norm: float) -> Mean:
    """Squared size of the step's gradient.

    Definition: grad_norm², before clipping, averaged over the updates of the step.

    Read: Contains what the samples agree on, plus the noise that their number did not average out.

    Check: optimiser/grad_norm; policy/variance/total_power.
    """
    return Mean(grad_norm * grad_norm, 1.0)


@metric(
    "policy/variance/pure_noise",
    unit="1",
    good="down",
    range=(0.0, None),
    example="0.096",
    names=(verl("variance_proxy/proxy3_pure_noise"),),
)
def pure_noise(score_norm_S: Any, mean_advantage_S: Any, grad_norm: float) -> PureNoise:
    """Variance of the step's gradient that comes from the limited number of samples.

    Definition: max(0, (total power - signal) / (n - 1)), with n the number of all samples, total
    power = policy/variance/total_power and signal = policy/variance/signal; NaN for one sample.

    Read: Falls with the number of samples. If it is as large as the signal, the step is as much
    noise as learning.

    Check: batch size; group size; policy/variance/signal.
    """
    power = np.square(_filled(mean_advantage_S)) * score_norm_S
    return PureNoise(float(power.sum()), float(len(power)), grad_norm * grad_norm)
