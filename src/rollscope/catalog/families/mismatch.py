"""Mismatch between the engine that samples and the trainer that learns, per sampled token.

The weight of a token is exp(old_logp - rollout_logp): the probability under the trainer's policy
before the update, divided by the probability that the engine reported. Every name says which of the
many measures of this gap it is, because their thresholds are not interchangeable.
"""

from __future__ import annotations

from typing import Any

from rollscope.catalog.compute.inputs import derived_on
from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.comoments import EffectiveShare, Pearson
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import reported, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, metric

key("is_cap", "step", "importance weights are cut at this value (truncated importance sampling)")
key("is_floor", "step", "importance weights below this value are zeroed")
key("is_level", "word", "token or sequence: the unit of one importance weight")


@derived_on("A")
def weight(sampler_e: Any) -> Any:
    return sampler_e + 1


@derived_on("A")
def inverse_weight(weight: Any) -> Any:
    return 1 / weight


@derived_on("A")
def probs_gap(rollout_p: Any, old_p: Any) -> Any:
    return ops.absolute(old_p - rollout_p)


@derived_on("A")
def rollout_p(rollout_logp: Any) -> Any:
    return ops.exp(rollout_logp)


@derived_on("A")
def old_p(old_logp: Any) -> Any:
    return ops.exp(old_logp)


@metric(
    "mismatch/weight",
    unit="1",
    good="near one",
    range=(0.0, None),
    healthy=(0.9, 1.1),
    example="mean 1.000, std 0.05, p95 1.06, max 3.1",
    names=(
        verl("rollout_corr/rollout_is_{mean,max,min}", versions="<0.9", note="if the weights have no cap"),
        trinity(
            "rollout_corr/rollout_is_{mean,max,min}",
            note="uses veRL 0.7, which measures before truncation",
        ),
    ),
    alarms=(
        Alarm(
            "outside",
            (0.5, 2.0),
            "bad",
            "veRL docs/algo/rollout_corr.md: is_mean outside 0.5 to 2",
            says="engine and trainer disagree",
            stat="mean",
        ),
        Alarm(
            "above",
            1.0,
            "bad",
            "veRL docs/algo/rollout_corr.md: is_std > 1",
            says="importance weights are spread",
            stat="std",
        ),
    ),
)
def weight_distribution(weight_A: Any) -> Distribution:
    """Importance weight between the trainer's policy before the update and the engine that sampled.

    Definition: exp(old_logp - rollout_logp) over the tokens the policy sampled (action_mask): mean,
    standard deviation (ddof 1), minimum, maximum and quantiles. Neither clamped nor truncated.

    Read: 1 would be perfect. bf16 alone spreads it by some percent and puts 7 to 8 % of tokens
    outside 0.9 to 1.1. Watch the spread and the extremes rather than the mean, which stays near 1
    by construction.

    Check: precision of the engine; weight synchronisation; temperature, top-p and top-k on both
    sides; staleness/mean.
    """
    return Distribution(weight_A)


@metric(
    "mismatch/weight_effective",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    healthy=(0.5, 1.0),
    example="0.98",
    alarms=(
        Alarm(
            "below", 0.3, "bad", "veRL docs/algo/rollout_corr.md: below 0.3 warn", says="a few tokens carry the update"
        ),
        Alarm(
            "below",
            0.5,
            "watch",
            "veRL docs/algo/rollout_corr.md: above 0.5 is good",
            says="importance weights are uneven",
        ),
    ),
)
def weight_effective(weight_A: Any) -> EffectiveShare:
    """Effective share of the tokens under the importance weights.

    Definition: (Σw)² / (n Σw²) with w = exp(old_logp - rollout_logp) over the tokens the policy
    sampled (action_mask), not truncated.

    Read: 1 when all weights are equal. A fall together with gradient spikes comes before a
    collapse.

    Check: mismatch/weight/max; staleness/mean; optimiser/grad_norm.
    """
    return EffectiveShare.of(weight_A)


@metric("mismatch/weight_outside", unit="share", good="down", range=(0.0, 1.0), example="0.075 for bf16 against vLLM")
def weight_outside(sampler_e_A: Any) -> Mean:
    """Share of tokens on which engine and trainer differ by more than a tenth.

    Definition: tokens the policy sampled (action_mask) whose weight exp(old_logp - rollout_logp)
    lies outside 0.9 to 1.1, divided by all of them.

    Read: Its baseline is not 0: about 7.5 % in bf16 for a small model, and as much for a trainer
    compared with itself at another chunk size. Compare with the run's own first steps.

    Check: mismatch/weight/p95; mismatch/probs_diff/mean.
    """
    return ops.share((sampler_e_A > 0.1) | (sampler_e_A < -0.1))


@metric(
    "mismatch/probs_diff",
    unit="probability",
    good="near zero",
    range=(0.0, 1.0),
    stats=("mean", "std", "min", "max"),
    example="mean 0.004, max 0.3",
    names=(
        verl("training/rollout_probs_diff_{mean,std,max}"),
        trinity("training/rollout_probs_diff_{mean,std,max}"),
    ),
    alarms=(
        Alarm(
            "above",
            0.01,
            "bad",
            "veRL docs/faq: above 0.01 is a precision problem of the engine",
            says="the engine has a precision problem",
            stat="mean",
        ),
        Alarm(
            "above",
            0.005,
            "watch",
            "veRL docs/faq: below 0.005 is normal",
            says="engine and trainer drift apart",
            stat="mean",
        ),
    ),
)
def probs_diff(probs_gap_A: Any) -> Distribution:
    """Difference between the two probabilities of a sampled token.

    Definition: |exp(old_logp) - exp(rollout_logp)| over the tokens the policy sampled
    (action_mask): mean, standard deviation (ddof 1), minimum and maximum. Compares probabilities,
    not their logarithms.

    Read: A mean below 0.005 is normal. It does not see rare tokens: a token of probability 1e-6 can
    be wrong by any factor. For those, read mismatch/logp_gap.

    Check: precision of the engine; weight synchronisation; mismatch/probs_pearson.
    """
    return Distribution(probs_gap_A, histogram=False)


@metric(
    "mismatch/probs_pearson",
    unit="1",
    good="near one",
    range=(-1.0, 1.0),
    healthy=(0.99, 1.0),
    example="0.996",
    names=(verl("training/rollout_actor_probs_pearson_corr"), trinity("training/rollout_actor_probs_pearson_corr")),
)
def probs_pearson(old_p_A: Any, rollout_p_A: Any) -> Pearson:
    """Correlation between the engine's and the trainer's probabilities of the sampled tokens.

    Definition: Pearson correlation of exp(old_logp) and exp(rollout_logp) over the tokens the
    policy sampled (action_mask), pooled over all parts of the step. NaN when one of them does not
    vary.

    Read: Should be above 0.99. A fall means that engine and trainer run different models, or the
    same model in different precision.

    Check: mismatch/probs_diff/mean; weight synchronisation.
    """
    correlation: Pearson = Pearson.of(old_p_A, rollout_p_A)
    return correlation


@metric(
    "mismatch/probs_mult_error",
    unit="1",
    good="near one",
    range=(1.0, None),
    example="1.02",
    alarms=(
        Alarm("above", 1.05, "bad", "NeMo-RL docs: above 1.05 investigate", says="engine and trainer disagree"),
        Alarm(
            "above",
            1.02,
            "watch",
            "NeMo-RL docs: a steady drift of 1 to 2 % is a weight-update bug",
            says="weights may be out of step",
        ),
    ),
)
def probs_mult_error(weight_A: Any, inverse_weight_A: Any) -> Mean:
    """Factor by which the two probabilities differ, whichever is larger.

    Definition: mean over the tokens the policy sampled (action_mask) of exp(|old_logp -
    rollout_logp|). NeMo-RL's token_mult_prob_error.

    Read: 1 is perfect. A steady drift means that weights are out of step. Spikes mean an engine or
    refit bug, or one rare token.

    Check: weight synchronisation; mismatch/logp_gap/max.
    """
    return ops.mean(ops.maximum(weight_A, inverse_weight_A))


@metric("mismatch/kl_reverse", unit="nats/token", good="near zero", range=(0.0, None), example="0.001")
def kl_reverse(sampler_x_A: Any, inverse_weight_A: Any) -> Mean:
    """The other direction of the mismatch: how surprised the engine would be by the trainer.

    Definition: mean over the tokens the policy sampled (action_mask) of e^-x - 1 + x, x = old_logp
    - rollout_logp. The same gap as policy/kl_sampler_k3 with the roles exchanged, on tokens that
    the engine drew. NeMo-RL logs it as policy_kl_error beside its gen_kl_error.

    Read: Close to policy/kl_sampler_k3. If it is much larger, look for a single token that the
    trainer finds far less likely than the engine did (-15 instead of -5 gives 22,015 here and 9
    there).

    Check: mismatch/logp_gap/max; policy/kl_sampler_k3; that token in the rollouts.
    """
    n = float(ops.size(sampler_x_A))
    return Mean(ops.total(inverse_weight_A) - n + ops.total(sampler_x_A), n)


@metric(
    "mismatch/logp_gap",
    unit="nats/token",
    good="near zero",
    range=(0.0, None),
    stats=("mean", "std", "min", "max"),
    example="mean 0.012, max 1.4",
    names=(
        trl(
            "sampling/sampling_logp_difference/{mean,max}",
            trainer="grpo",
            note="the mean of the ranks' means; from 1.16 on, NaN tokens are dropped",
        ),
        rlinf(
            "train/actor/rollout_train_kl",
            stat="mean",
            same=False,
            note="only the last micro-batch, and called a KL",
        ),
        rlinf(
            "actor/training/actor/rollout_train_kl",
            stat="mean",
            same=False,
            note="only the last micro-batch, and called a KL",
        ),
    ),
)
def logp_gap(sampler_x_A: Any) -> Distribution:
    """Difference between the two log-probabilities of a sampled token.

    Definition: |old_logp - rollout_logp| over the tokens the policy sampled (action_mask): mean,
    standard deviation (ddof 1), minimum and maximum.

    Read: About 0.01 in bf16. The maximum is one rare token and jumps; the mean should not drift.

    Check: mismatch/probs_diff/mean; mismatch/weight/max.
    """
    return Distribution(ops.absolute(sampler_x_A), histogram=False)


@metric(
    "mismatch/chi2_token",
    unit="1",
    good="near zero",
    example="0.01",
    names=(
        verl("rollout_corr/chi2_token", note="log-ratios are clamped to ±20"),
        trinity("rollout_corr/chi2_token", note="log-ratios are clamped to ±20"),
    ),
    alarms=(
        Alarm(
            "above",
            1.0,
            "bad",
            "veRL docs/algo/rollout_corr.md: chi2_token > 1 is severe",
            says="importance weights have a heavy tail",
        ),
    ),
)
def chi2_token(weight_A: Any) -> Mean:
    """Chi-squared divergence between trainer and engine, per token.

    Definition: mean over the tokens the policy sampled (action_mask) of w² - 1 with w =
    exp(old_logp - rollout_logp).

    Read: The variance of the importance weights when their mean is 1. It sees tails that KL does
    not.

    Check: mismatch/weight/max; mismatch/weight_effective.
    """
    n = float(ops.size(weight_A))
    return Mean(ops.dot(weight_A, weight_A) - n, n)


reported(
    "mismatch/probs_valid",
    meaning="Whether the mismatch of probabilities could be computed.",
    definition="1 when at least one sampled token has both log-probabilities, else 0, as veRL reports it.",
    read="Should be 1. At 0 the other mismatch numbers are NaN.",
    check="whether the engine returns log-probabilities",
    unit="1",
    good="up",
    example="1",
    kind="last",
    names=(
        verl("training/rollout_probs_diff_valid"),
        trinity("training/rollout_probs_diff_valid"),
    ),
)


@metric(
    "mismatch/behaviour_weight_truncated",
    unit="1",
    good="near one",
    range=(0.0, None),
    example="0.99",
    names=(telescope("tis_mean", note="the value of one data-parallel rank"),),
)
def behaviour_weight_truncated(behaviour_e_M: Any, is_cap: float, is_floor: float | None = None) -> Mean:
    """Mean truncated importance weight between the current policy and the engine that sampled.

    Definition: mean over tokens in the loss (mask) of min(exp(logp - rollout_logp), is_cap); with
    is_floor, weights outside is_floor to is_cap count as 0 (IcePop).

    Read: Near 1. It is below 1 by the amount that the cap takes away.

    Check: mismatch/behaviour_weight_outside; policy/kl_behaviour_k3.
    """
    n = float(ops.size(behaviour_e_M))
    if is_floor is None:
        return Mean(n + ops.total(ops.minimum(behaviour_e_M, is_cap - 1)), n)
    inside = (behaviour_e_M >= is_floor - 1) & (behaviour_e_M <= is_cap - 1)
    return Mean(ops.total_where(inside, behaviour_e_M + 1), n)


@metric(
    "mismatch/behaviour_weight_outside",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.002",
    names=(
        telescope("tis_zero_frac", note="the value of one data-parallel rank"),
        rlinf(
            "train/actor/behav_clip_fraction",
            same=False,
            note="one minus the share of steps kept by RLinf's behaviour cap",
        ),
    ),
)
def behaviour_weight_outside(behaviour_e_M: Any, is_cap: float, is_floor: float = 0.0) -> Mean:
    """Share of tokens whose weight against the engine is above the cap or below the floor.

    Definition: tokens in the loss (mask) with exp(logp - rollout_logp) above is_cap or below
    is_floor, divided by tokens in the loss.

    Read: Never alarm on it alone: it can fall while the gap grows.

    Check: mismatch/weight/p95; staleness/mean.
    """
    return ops.share((behaviour_e_M > is_cap - 1) | (behaviour_e_M < is_floor - 1))
