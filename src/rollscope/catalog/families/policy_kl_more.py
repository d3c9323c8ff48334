"""Other distances between policies: clamped, absolute, per sequence, over the whole vocabulary.

policy_kl.py has the plain token means of k1, k2 and k3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.compute.vocabulary import kl_of_logits
from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import trinity, trl, verl
from rollscope.catalog.spec import derived, metric

from .aggregation import aggregate
from .policy_kl import k1, k3

CLAMPING = ("vanilla", "sapo", "cispo", "dppo_tv", "dppo_kl")

key("kl_penalty", "word", "estimator of the KL in the reward: kl, abs, mse or low_var_kl")
key("kl_loss_type", "word", "estimator of the KL term in the loss: low_var_kl, kl, abs or mse")
key("ref_logits", "logits", "the reference model's scores over the vocabulary, before the division by temperature")
key("kl_bias_correction", "step", "1 if the KL term of a token is multiplied by its importance ratio")
key("kl_full", "token", "KL(current || reference) over the whole vocabulary at each token, as the trainer computed it")


@derived
def kl_full_A(logits_A: Any, ref_logits_A: Any, temperature: float = 1.0) -> Any:
    return kl_of_logits(logits_A, ref_logits_A, temperature)


@metric(
    "policy/kl_ref_full",
    unit="nats/token",
    good="context",
    range=(0.0, None),
    example="0.02: the two models nearly agree on every next token",
)
def kl_ref_full(kl_full_A: Any) -> Mean:
    """Distance from the reference model over the whole vocabulary.

    Definition: mean over the tokens the policy sampled (action_mask) of Σ_v p(v) (log p(v) - log
    q(v)), p the current policy and q the reference, both at the sampling temperature. Exact for
    each position, not an estimate from the sampled token.

    Read: The exact value that kl_ref_k1 and kl_ref_k3 estimate. It grows as training moves away
    from its starting point.

    Check: reward/mean; policy/kl_coef; policy/entropy.
    """
    return ops.mean(kl_full_A)


@metric(
    "policy/kl_update_configured",
    unit="nats/token",
    good="near zero",
    example="one of 100 tokens at x = 25, the rest at 0: -0.20, where the unclamped estimate is -0.25",
    names=(
        verl("actor/ppo_kl", override=True),
        trinity("actor/ppo_kl", override=True),
    ),
)
def kl_update_configured(update_x_A: Any, loss_mode: str = "vanilla", ratio_level: str = "token") -> Mean | None:
    """How far this step's update moved the policy, as the configured loss reports it.

    Definition: over the tokens the policy sampled (action_mask), depending on loss_mode: vanilla
    (the default), sapo, cispo and dppo take the mean of -clamp(logp - old_logp, -20, 20), which
    equals policy/kl_update_k1 unless a token's log-ratio exceeds 20; kl_cov takes the mean of |logp
    - old_logp|. Not written for the losses that use k1 unchanged.

    Read: Read it like policy/kl_update_k1. If the two differ, some token changed its probability by
    more than e^20.

    Check: policy/kl_update_k1; policy/ratio/max; log-probabilities of -inf.
    """
    if loss_mode == "kl_cov":
        return ops.mean(ops.absolute(update_x_A))
    if ratio_level != "token" or loss_mode not in CLAMPING:
        return None
    return k1(ops.clip(update_x_A, -20.0, 20.0) if ops.beyond(update_x_A, 20.0) else update_x_A)


@metric(
    "policy/kl_ref_abs",
    unit="nats/token",
    good="context",
    range=(0.0, None),
    example="half the tokens at +0.1, half at -0.1: 0.1, where k1 is 0",
)
def kl_ref_abs(ref_x_A: Any) -> Mean:
    """Mean absolute difference in log-probability to the reference model.

    Definition: mean over the tokens the policy sampled (action_mask) of |logp - ref_logp|. Not a KL
    divergence; veRL's kl_penalty "abs" uses it as a penalty.

    Read: Tokens that rose and tokens that fell do not cancel. At step 0 it must be below 1e-8.

    Check: policy/kl_ref_k3; whether reference and policy load the same checkpoint and chat
    template.
    """
    return ops.mean(ops.absolute(ref_x_A))


@metric(
    "policy/kl_ref_k3_weighted",
    unit="nats/token",
    good="context",
    range=(0.0, None),
    example="0.02",
    names=(trl("kl", trainer="grpo", override=True),),
)
def kl_ref_k3_weighted(ref_x_M: Any, ref_e_M: Any, ratio_M: Any, kl_bias_correction: float) -> Mean | None:
    """Distance from the reference model, with each token's k3 multiplied by its importance ratio.

    Definition: mean over tokens in the loss (mask) of ratio · (e^x - 1 - x), x = ref_logp - logp,
    ratio = exp(logp - old_logp). Written when the batch sets kl_bias_correction; this is TRL's
    use_bias_correction_kl, which is on by default from 1.16.

    Read: Equal to policy/kl_ref_k3 on the first update of a batch. Later, the weights correct it to
    the current policy's samples.

    Check: policy/kl_ref_k3; policy/ratio/max.
    """
    return ops.mean(ratio_M * (ref_e_M - ref_x_M)) if kl_bias_correction else None


@metric(
    "policy/kl_update_abs",
    unit="nats/token",
    good="near zero",
    range=(0.0, None),
    example="0.01: a token's log-probability moved by 0.01 on average",
)
def kl_update_abs(update_x_A: Any) -> Mean:
    """Mean absolute change of the sampled tokens' log-probability in this step's update.

    Definition: mean over the tokens the policy sampled (action_mask) of |logp - old_logp|. Not a KL
    divergence.

    Read: 0 on the first optimiser step on fresh samples. It rises each time the batch is reused.

    Check: policy/kl_update_k3; optimiser/lr.
    """
    return ops.mean(ops.absolute(update_x_A))


@derived
def ref_gap_S(old_logp_A: Any, ref_logp_A: Any, rows_A: Any) -> Any:
    """Sum over each sample's tokens of old_logp - ref_logp."""
    return ops.row_sum(old_logp_A - ref_logp_A, rows_A)


@metric(
    "policy/kl_ref_sum",
    unit="nats/sequence",
    good="context",
    example="200 tokens at 0.02 each: 4.0",
    names=(
        trl("objective/kl", trainer="ppo", versions="<=1.12", note="with kl_estimator k1, the default"),
        trl(
            "objective/kl",
            trainer="online_dpo,xpo",
            same=False,
            note="padding is not masked out (Online DPO), or two sums are averaged (XPO)",
        ),
    ),
)
def kl_ref_sum(ref_gap_S: Any, completion_tokens_S: Any) -> Mean:
    """Distance of the policy that sampled from the reference, summed over each sequence.

    Definition: mean over sequences with at least one sampled token (action_mask) of Σ_t (old_logp -
    ref_logp), the k1 estimate of the whole sequence's KL.

    Read: Grows with length as well as with distance: answers that are ten times longer make it ten
    times larger.

    Check: policy/kl_ref_k1, the value per token; length/completion/mean; policy/kl_coef.
    """
    return ops.mean(ref_gap_S[completion_tokens_S > 0])


@metric(
    "reward/kl_penalty",
    unit="reward",
    good="context",
    example="kl_coef 0.05 and 4 nats per sequence: -0.2",
    names=(trl("objective/non_score_reward", versions="<=1.12"),),
)
def kl_reward(ref_gap_S: Any, completion_tokens_S: Any, kl_coef: float) -> Mean:
    """Amount that the KL penalty adds to a sequence's reward; usually negative.

    Definition: mean over sequences with at least one sampled token (action_mask) of -kl_coef · Σ_t
    (old_logp - ref_logp).

    Read: Compare with the score: if the penalty is as large as the score, the policy is paid for
    standing still.

    Check: policy/kl_coef; score/mean; length/completion/mean.
    """
    return ops.mean(-kl_coef * ref_gap_S[completion_tokens_S > 0])


@metric(
    "reward/score_with_kl",
    unit="reward",
    good="up",
    example="score 1.0 and penalty -0.2: 0.8",
    names=(
        trl(
            "objective/rlhf_reward",
            versions="<=1.12",
            note="the sum of both; the published guide's 'score - non_score_reward' has the wrong sign",
        ),
    ),
)
def score_with_kl(score_S: Any, ref_gap_S: Any, completion_tokens_S: Any, kl_coef: float) -> Mean:
    """Score plus KL penalty: what RLHF with a KL penalty maximises.

    Definition: mean over sequences with at least one sampled token (action_mask) of score - kl_coef
    · Σ_t (old_logp - ref_logp).

    Read: Should rise. If the score rises while this sum stays flat, the gain is paid for with
    distance.

    Check: reward/kl_penalty; score/mean.
    """
    some = completion_tokens_S > 0
    return ops.mean((score_S - kl_coef * ref_gap_S)[some])


def penalty(d: Any, word: str) -> Any:
    """veRL's penalty of d = logp - ref_logp by its configured name; None for an unknown name."""
    word = word.rstrip("+")  # `k1+` and `k3+` differ from k1 and k3 only in their gradient
    if word in ("kl", "k1"):
        return d
    if word == "abs":
        return ops.absolute(d)
    if word in ("mse", "k2"):
        return d * d / 2
    if word not in ("low_var_kl", "k3"):
        return None
    c = ops.clip(-d, -20.0, 20.0)
    return ops.clip(ops.expm1(c) - c, -10.0, 10.0)


@metric("policy/kl_penalty", unit="nats/token", good="context", example="0.003")
def kl_penalty_mean(ref_gap_S: Any, completion_tokens_S: Any) -> Mean:
    """KL to the reference as it can enter the reward, each sequence counting once.

    Definition: mean over sequences with at least one sampled token (action_mask) of the sequence's
    token mean of old_logp - ref_logp (k1).

    Read: Like policy/kl_ref_k1, but a long answer weighs no more than a short one, and it measures
    the policy that sampled.

    Check: policy/kl_ref_k1; policy/kl_coef.
    """
    some = completion_tokens_S > 0
    return ops.mean(ref_gap_S[some] / completion_tokens_S[some])


@derived
def penalty_rows_S(old_logp_A: Any, ref_logp_A: Any, rows_A: Any, kl_penalty: str) -> Any:
    x = penalty(old_logp_A - ref_logp_A, kl_penalty)
    return None if x is None else ops.row_sum(x, rows_A)


@metric(
    "policy/reward_kl_penalty",
    unit="nats/token",
    good="context",
    example="one aborted sample of 16: 15/16 of policy/kl_penalty",
    names=(verl("actor/reward_kl_penalty", note="also counts samples without a token as 0"),),
)
def reward_kl_penalty(
    ref_gap_S: Any, completion_tokens_S: Any, penalty_rows_S: Any = None, kl_penalty: str = "kl"
) -> Mean | None:
    """KL to the reference in the reward as configured, with samples without a token counted as
    zero.

    Definition: mean over all samples of the sample's token mean (action_mask) of the estimator
    named in the batch's kl_penalty: kl or k1 (the default), abs, mse or k2, low_var_kl or k3. A
    sample without a sampled token counts as 0.

    Read: With k1 it equals policy/kl_penalty unless samples were aborted; aborted samples pull it
    towards 0.

    Check: length/aborted; policy/kl_penalty; policy/kl_coef.
    """
    sums = ref_gap_S if kl_penalty == "kl" else penalty_rows_S
    if sums is None:
        return None
    none = completion_tokens_S * 0.0  # NaN stays NaN
    return ops.mean(np.divide(sums, completion_tokens_S, out=none, where=completion_tokens_S > 0))


@metric(
    "policy/kl_loss",
    unit="nats/token",
    good="context",
    example="0.02",
    names=(verl("actor/kl_loss", versions=">=0.9", override=True),),
)
def kl_loss(ref_x_M: Any, ref_e_M: Any, kl_loss_type: str = "low_var_kl", loss_agg: str = "token-mean") -> Mean | None:
    """The KL term of the loss as configured, every token counting once.

    Definition: mean over tokens in the loss (mask), logp compared with ref_logp, by the batch's
    kl_loss_type: k1, abs, k2, or k3 = low_var_kl (the default) with its exponent clamped to ±20 and
    itself to ±10. Not multiplied by kl_coef. If loss_agg is not token-mean, see
    policy/kl_loss_aggregated.

    Read: Read it like policy/kl_ref_k3, which neither clamps nor depends on a configuration.

    Check: policy/kl_ref_k3; policy/kl_coef; reward/mean.
    """
    if loss_agg != "token-mean":
        return None
    if kl_loss_type in ("low_var_kl", "k3") and not ops.beyond(ref_x_M, 2.0):  # below every clamp
        return k3(ref_x_M, ref_e_M)
    x = penalty(-ref_x_M, kl_loss_type)
    return None if x is None else ops.mean(x)


@derived
def kl_loss_rows_S(ref_x_M: Any, rows_M: Any, loss_agg: str, kl_loss_type: str = "low_var_kl") -> Any:
    x = None if loss_agg == "token-mean" else penalty(-ref_x_M, kl_loss_type)
    return None if x is None else ops.row_sum(x, rows_M)


@metric(
    "policy/kl_loss_aggregated",
    unit="nats",
    good="context",
    example="4.1",
    names=(verl("actor/kl_loss", versions=">=0.9", override=True),),
)
def kl_loss_aggregated(
    kl_loss_rows_S: Any, tokens_M_S: Any, loss_agg: str, loss_scale: float | None = None
) -> Mean | None:
    """The KL term of the loss as configured, with an aggregation other than the token mean.

    Definition: same as policy/kl_loss over tokens in the loss (mask), aggregated according to the
    batch's loss_agg.

    Read: With a sum over tokens it grows with length; policy/kl_ref_k3 does not.

    Check: policy/kl_ref_k3; the loss aggregation.
    """
    return aggregate(kl_loss_rows_S, tokens_M_S, loss_agg, loss_scale)
