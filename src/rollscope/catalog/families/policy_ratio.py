"""The importance ratio of an update (pi_new / pi_old on tokens in the loss) and its clipping."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.compute.inputs import derived_on
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Max, Mean, Min
from rollscope.catalog.reported import openrlhf, reported, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric

from .aggregation import is_ppo


@derived_on("M")
def ratio(update_e: Any) -> Any:
    return update_e + 1


@metric(
    "policy/ratio",
    unit="1",
    good="near one",
    range=(0.0, None),
    healthy=(0.9, 1.1),
    example="mean 1.002, p95 1.12, max 3.4",
    names=(
        rlinf("train/actor/ratio", stat="mean"),
        rlinf("actor/training/actor/ratio", stat="mean"),
        rlinf(
            "train/actor/proximal_ratio",
            stat="mean",
            same=False,
            note="only over valid steps whose behaviour weight is kept",
        ),
        trl(
            "val/ratio",
            trainer="ppo",
            stat="mean",
            same=False,
            note=(
                "mean over all positions, with padding counted as 1, divided by num_mini_batches: with "
                "two mini-batches, 0.5 is healthy"
            ),
        ),
        trl(
            "val/ratio_var",
            trainer="ppo",
            stat="std",
            same=False,
            note="the variance of micro-batch means, not of tokens",
        ),
        trl(
            "ratio",
            trainer="async_grpo",
            stat="mean",
            same=False,
            note="relative to the sampling policy; its reduction changed between versions",
        ),
        trinity("actor/ratio/mean", trainer="importance_sampling", stat="mean"),
        trinity("actor/avg_ratio", trainer="sapo,topr", stat="mean"),
    ),
    alarms=(
        Alarm(
            "outside",
            (0.5, 2.0),
            "bad",
            "TRL ppo_trainer.md: 2.0, 1000 or 0.1 mean updates are too drastic",
            says="the update is too drastic",
            stat="mean",
        ),
        Alarm(
            "above",
            5.0,
            "watch",
            "RLinf grpo.rst: early_stop_imp_ratio 5.0",
            says="single tokens move very far",
            stat="max",
        ),
    ),
)
def ratio_distribution(ratio_M: Any) -> Distribution:
    """How much more likely the update made each token in the loss.

    Definition: exp(logp - old_logp) over tokens in the loss (mask): mean, standard deviation (ddof
    1), minimum, maximum and quantiles. Not clamped.

    Read: Stays around 1, and is exactly 1 on the first optimiser step on fresh samples. (A
    difference on that step means nondeterminism, or a mixture of experts that routes differently.)

    Check: policy/clip/region; policy/kl_update_k3; optimiser/lr; how many updates reuse one batch.
    """
    return Distribution(ratio_M)


@metric(
    "policy/ratio_gap",
    unit="1",
    good="near zero",
    range=(0.0, None),
    example="half the tokens at 1.1, half at 0.9: 0.1",
    names=(rlinf("train/actor/ratio_abs"), rlinf("actor/training/actor/ratio_abs")),
)
def ratio_gap(update_e_M: Any) -> Mean:
    """Mean distance of the ratio from 1.

    Definition: mean over tokens in the loss (mask) of |ratio - 1|. Twice the total variation
    distance, estimated on the sampled tokens.

    Read: 0 on the first optimiser step on fresh samples. Unlike in the mean ratio, tokens that rose
    and tokens that fell do not cancel.

    Check: policy/ratio/mean; policy/clip/region.
    """
    return ops.mean(ops.absolute(update_e_M))


@metric(
    "policy/ratio_clipped",
    unit="1",
    good="near one",
    range=(0.0, None),
    example="ratios 1.65, 1, 0.67, 0.37 at epsilon 0.2: 0.95",
    names=(
        rlinf("train/actor/clipped_ratio", note="the mean of all ratios after clamping, not only of the clipped ones"),
        rlinf("actor/training/actor/clipped_ratio"),
        rlinf("train/actor/clipped_proximal_ratio"),
    ),
)
def ratio_clipped(ratio_M: Any, clip_low: float, clip_high: float) -> Mean:
    """Mean ratio after the clamp.

    Definition: mean over all tokens in the loss (mask) of clamp(ratio, 1 - clip_low, 1 +
    clip_high).

    Read: Compare with policy/ratio/mean: the difference is what the clamp holds back.

    Check: policy/ratio/mean; policy/ratio/outside.
    """
    return ops.mean(ops.clip(ratio_M, 1.0 - clip_low, 1.0 + clip_high))


@metric(
    "policy/ratio_dual_clipped",
    unit="1",
    good="near zero",
    range=(0.0, None),
    example="one of 100 tokens at ratio 4: 0.04",
    names=(rlinf("train/actor/dual_cliped_ratio"), rlinf("actor/training/actor/dual_cliped_ratio")),
)
def ratio_dual_clipped(ratio_M: Any, dual_clipped_M: Any) -> Mean:
    """Amount of ratio that the dual clip cut off.

    Definition: Σ of the ratio over tokens in the loss (mask) with a negative advantage and a ratio
    above clip_c, divided by all tokens in the loss.

    Read: 0 when the dual clip is never reached.

    Check: policy/clip/dual; policy/ratio/max.
    """
    return Mean(ops.total_where(dual_clipped_M, ratio_M), float(ops.size(ratio_M)))


@derived
def under_M(update_e_M: Any, clip_low: float) -> Any:
    return update_e_M < -clip_low


@derived
def over_M(update_e_M: Any, clip_high: float) -> Any:
    return update_e_M > clip_high


@derived
def clipped_low_M(under_M: Any, advantages_M: Any) -> Any:
    return under_M & (advantages_M < 0)


@derived
def clipped_high_M(over_M: Any, advantages_M: Any) -> Any:
    return over_M & (advantages_M > 0)


@derived
def dual_clipped_M(update_e_M: Any, advantages_M: Any, clip_c: float) -> Any:
    return (update_e_M > clip_c - 1) & (advantages_M < 0)


@metric(
    "policy/ratio/outside",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="7.5 % of tokens lie outside 1 ± 0.1 in bf16 before any update",
    names=(verl("actor/pg_clipfrac", same=False, note="only the cispo loss logs this number under actor/pg_clipfrac"),),
)
def ratio_outside(under_M: Any, over_M: Any) -> Mean:
    """Share of tokens whose ratio is outside the clip range, whatever their advantage.

    Definition: tokens in the loss (mask) with ratio < 1 - clip_low or ratio > 1 + clip_high (strict
    inequalities), divided by tokens in the loss.

    Read: Never below policy/clip/region. The difference is the tokens that moved far in the
    direction that the loss does not hold back.

    Check: policy/clip/region; mismatch/weight/p95, because noise between kernels alone puts tokens
    outside a narrow range.
    """
    return ops.share(under_M | over_M)


_SEQUENCE = "with importance_sampling_level sequence, it counts sequences: policy/seq_clip/{side}"


@metric(
    "policy/clip/low",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="2 of 100 tokens: 0.02",
    names=(trl("clip_ratio/low_mean", trainer="grpo,async_grpo,gmpo", note=_SEQUENCE.format(side="low")),),
)
def clip_low_share(clipped_low_M: Any, ratio_level: str = "token", loss_mode: str = "vanilla") -> Mean | None:
    """Share of tokens held back at the lower bound.

    Definition: tokens in the loss (mask) with ratio < 1 - clip_low and a negative advantage (strict
    inequalities), divided by tokens in the loss. A token with advantage 0 counts only in the
    denominator. Not written when ratio_level or loss_mode selects another loss.

    Read: The update has already made these tokens unlikely enough. Much more low than high means
    that punishment dominates.

    Check: policy/clip/high; advantage/mean; optimiser/lr.
    """
    return ops.share(clipped_low_M) if is_ppo(ratio_level, loss_mode) else None


@metric(
    "policy/clip/high",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="3 of 100 tokens: 0.03",
    names=(trl("clip_ratio/high_mean", trainer="grpo,async_grpo,gmpo", note=_SEQUENCE.format(side="high")),),
)
def clip_high_share(clipped_high_M: Any, ratio_level: str = "token", loss_mode: str = "vanilla") -> Mean | None:
    """Share of tokens held back at the upper bound.

    Definition: tokens in the loss (mask) with ratio > 1 + clip_high and a positive advantage
    (strict inequalities), divided by tokens in the loss. Not written when ratio_level or loss_mode
    selects another loss.

    Read: Rare tokens that were rewarded reach this bound first. A low upper bound limits
    exploration, which shows as falling entropy.

    Check: policy/entropy; a clip_high larger than clip_low; policy/clip/low.
    """
    return ops.share(clipped_high_M) if is_ppo(ratio_level, loss_mode) else None


@metric(
    "policy/clip/region",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    healthy=(0.0, 0.2),
    example="5 of 100 tokens: 0.05",
    names=(
        verl(
            "actor/pg_clipfrac",
            note="under losses other than vanilla, it counts something else: see policy/clip/configured",
        ),
        openrlhf("ppo_clip_ratio"),
        trl("clip_ratio/region_mean", trainer="grpo,async_grpo,gmpo", note=_SEQUENCE.format(side="region")),
        trl(
            "clip_ratio",
            trainer="grpo",
            versions="<1.14",
            same=False,
            note="Liger kernel only: a mean of the ranks' means; removed in 1.14",
        ),
        trl(
            "policy/clipfrac_avg",
            trainer="ppo",
            same=False,
            note="this share divided by num_mini_batches, because TRL averages over slots that it never fills",
        ),
        rlinf(
            "train/actor/clip_fraction",
            note=(
                "with a loss mask and token-level log-probabilities, the divisor is too small, by a factor of up to 35"
            ),
        ),
        rlinf("actor/training/actor/clip_fraction"),
        trinity("actor/pg_clipfrac"),
    ),
    alarms=(
        Alarm(
            "above",
            0.2,
            "watch",
            "miles docs/user-guide/monitoring.md: healthy below 0.2",
            says="many tokens are held back",
        ),
        Alarm(
            "above",
            0.5,
            "bad",
            "miles docs/user-guide/monitoring.md: above 0.5 the policy moves too fast",
            says="the policy moves too fast",
        ),
    ),
)
def clip_region(
    clipped_low_M: Any, clipped_high_M: Any, ratio_level: str = "token", loss_mode: str = "vanilla"
) -> Mean | None:
    """Share of tokens that the clip holds back.

    Definition: tokens in the loss (mask) with (ratio < 1 - clip_low and advantage < 0) or (ratio >
    1 + clip_high and advantage > 0) (strict inequalities), divided by tokens in the loss. Not
    written when ratio_level or loss_mode selects another loss.

    Read: 0 on the first optimiser step on fresh samples. A steady few percent is normal. Above a
    fifth, the steps are too large or the batch is reused too often.

    Check: optimiser/lr; number of updates per batch; policy/ratio/max; batch size.
    """
    return ops.share(clipped_low_M | clipped_high_M) if is_ppo(ratio_level, loss_mode) else None


@metric(
    "policy/clip/dual",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="1 of 10,000 tokens: 0.0001",
    names=(
        verl("actor/pg_clipfrac_lower"),
        trinity("actor/pg_clipfrac_lower"),
        rlinf("train/actor/dual_clip_fraction"),
        telescope("dual_clip_frac", note="the value of one data-parallel rank"),
    ),
)
def clip_dual(dual_clipped_M: Any, ratio_level: str = "token", loss_mode: str = "vanilla") -> Mean | None:
    """Share of tokens cut by the dual clip: punished tokens that became much more likely.

    Definition: tokens in the loss (mask) with a negative advantage and ratio > clip_c (strict
    inequalities), divided by tokens in the loss. Not written when ratio_level or loss_mode selects
    another loss.

    Read: Near 0. A rise means that ratios explode where the advantage is negative: stale samples or
    a mismatch with the engine.

    Check: policy/ratio/max; mismatch/weight/max; staleness/mean.
    """
    return ops.share(dual_clipped_M) if is_ppo(ratio_level, loss_mode) else None


@derived
def clipped_low_rows_S(clipped_low_M: Any, rows_M: Any) -> Any:
    return ops.row_mean(clipped_low_M, rows_M)


@derived
def clipped_high_rows_S(clipped_high_M: Any, rows_M: Any) -> Any:
    return ops.row_mean(clipped_high_M, rows_M)


_WINDOW = "TRL averages the value of each micro-batch over its logging window; ours is the extreme of the step"


@metric(
    "policy/clip/low_min",
    unit="share",
    good="context",
    range=(0.0, 1.0),
    example="0 as soon as one completion has no token clipped low",
    names=(trl("clip_ratio/low_min", trainer="grpo,async_grpo,gmpo", note=_WINDOW),),
)
def clip_low_min(
    clipped_low_rows_S: Any, tokens_M_S: Any, ratio_level: str = "token", loss_mode: str = "vanilla"
) -> Min | None:
    """Smallest share of tokens in a completion that are held back at the lower bound.

    Definition: lowest, over completions with at least one token in the loss (mask), of the
    completion's share of tokens clipped low.

    Read: Above 0 only when every completion is clipped somewhere.

    Check: policy/clip/low.
    """
    return ops.lowest(clipped_low_rows_S[tokens_M_S > 0]) if is_ppo(ratio_level, loss_mode) else None


@metric(
    "policy/clip/high_max",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.4: in one completion two tokens of five are clipped",
    names=(trl("clip_ratio/high_max", trainer="grpo,async_grpo,gmpo", note=_WINDOW),),
)
def clip_high_max(
    clipped_high_rows_S: Any, tokens_M_S: Any, ratio_level: str = "token", loss_mode: str = "vanilla"
) -> Max | None:
    """Largest share of tokens in a completion that are held back at the upper bound.

    Definition: highest, over completions with at least one token in the loss (mask), of the
    completion's share of tokens clipped high.

    Read: Near 1 while the mean is small, one completion is pushed as a whole; often it is a short
    one.

    Check: policy/clip/high; the completion itself in the rollouts.
    """
    return ops.highest(clipped_high_rows_S[tokens_M_S > 0]) if is_ppo(ratio_level, loss_mode) else None


reported(
    "policy/clip/cispo",
    meaning="Share of tokens whose weight CISPO cuts at its upper bound.",
    definition=(
        "tokens in the loss with ratio > epsilon_high and a positive advantage, divided by tokens "
        "in the loss. In CISPO, epsilon_high is the bound itself, not 1 + epsilon."
    ),
    read="Like policy/clip/high, but the gradient of a cut token is scaled down, not dropped.",
    check="policy/ratio/max; optimiser/lr",
    unit="share",
    good="down",
    example="0.01",
    range=(0.0, 1.0),
    names=(trl("cispo_clip_ratio", trainer="grpo"),),
)
