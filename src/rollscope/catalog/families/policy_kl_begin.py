"""Where in an answer the policy has left its reference: at its beginning, or all along."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.spec import metric

PARTS = 8  # the beginning is the first of so many equal parts


@metric(
    "policy/kl_ref_begin_k3",
    unit="nats/token",
    good="context",
    range=(0.0, None),
    example="answers of 80 tokens, x = -0.3 on the first ten: 0.0408, where policy/kl_ref_k3 is 0.0051",
)
def kl_ref_begin_k3(ref_x_A: Any, ref_e_A: Any, rows_A: Any) -> Mean:
    """Distance of the current policy from the reference model at the beginning of its answers.

    Definition: mean of e^x - 1 - x, x = ref_logp - logp, over the first eighth of each sample's
    sampled tokens (action_mask), rounded up: the first token of an answer of up to 8 tokens, the
    first 10 of 80.

    Read: Compare with policy/kl_ref_k3, the mean over whole answers. Learning moves a policy all
    along an answer, and a new way to begin an answer shows here first. A beginning that goes on
    moving away alone, without a gain in reward, is paid for with KL that buys form.

    Check: policy/kl_ref_k3; the chat template and the first tokens that policy and reference see;
    the first words of the samples.
    """
    return ops.mean_of_beginnings(ref_e_A - ref_x_A, rows_A, PARTS)
