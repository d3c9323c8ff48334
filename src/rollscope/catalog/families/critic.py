"""The critic: its predictions, their quality and its updates; and the token-level advantages."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.comoments import ExplainedVariance, ResidualVariance, StabilisedExplainedVariance
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Last, Mean
from rollscope.catalog.reported import openrlhf, rlinf, trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric

from .aggregation import aggregate

key("value_clip", "step", "how far a value may move from old_values before its loss is clipped")
key("critic_lr", "step", "learning rate of the critic")
key("critic_grad_norm", "step", "gradient norm of the critic before clipping")


@derived
def baseline_M(old_values_M: Any = None, values_M: Any = None) -> Any:
    """The values behind the advantages, or the current critic's if only those are given."""
    return values_M if old_values_M is None else old_values_M


@metric(
    "critic/values",
    unit="reward",
    good="context",
    example="mean 0.43, min -0.58, max 1.25",
    names=(
        verl("critic/values/{mean,max,min}"),
        verl(
            "critic/value/mean",
            stat="mean",
            same=False,
            note="the published glossary's spelling of critic/values/mean; veRL does not log this key",
        ),
        openrlhf("values", stat="mean", same=False, note="an unweighted mean over micro-batches"),
        rlinf("rollout/values_{max,min}"),
        rlinf("rollout/values_mean", stat="mean", same=False, note="a mean of ranks' means"),
    ),
)
def values(baseline_M: Any) -> Distribution:
    """What the critic predicted when the advantages were computed.

    Definition: old_values over tokens in the loss (mask): mean, standard deviation (ddof 1),
    minimum, maximum and quantiles. If only `values` is given, the current critic's values.

    Read: Should follow critic/returns in mean and in spread. A constant means that the critic has
    learned nothing; drift away from the returns means that it lags behind.

    Check: critic/explained_variance; critic/returns/mean; reward scale.
    """
    return Distribution(baseline_M)


@metric(
    "critic/predictions",
    unit="reward",
    good="context",
    stats=("mean", "std", "min", "max"),
    example="mean 0.38",
    names=(verl("critic/vpred_mean", stat="mean"), trinity("critic/vpred_mean", stat="mean")),
)
def predictions(values_M: Any, old_values_M: Any) -> Distribution:
    """What the current critic predicts during its update.

    Definition: values over tokens in the loss (mask): mean, standard deviation (ddof 1), minimum
    and maximum. Written only when old_values is also given; otherwise critic/values is this number.

    Read: Moves from critic/values towards critic/returns within a step.

    Check: critic/values/mean; critic/loss.
    """
    return Distribution(values_M, histogram=False)


@metric(
    "critic/returns",
    unit="reward",
    good="context",
    example="mean 0.64, min -0.02, max 1.0",
    names=(
        verl("critic/returns/{mean,max,min}"),
        rlinf("rollout/returns_{mean,max,min}"),
        trinity(
            "critic/returns/{mean,max,min}",
            same=False,
            note="over the attention mask, so tool and environment text is counted",
        ),
    ),
)
def returns(returns_M: Any) -> Distribution:
    """The targets that the critic learns.

    Definition: returns over tokens in the loss (mask): mean, standard deviation (ddof 1), minimum,
    maximum and quantiles.

    Read: Rises with the reward. Values beyond ±10 make value losses hard to fit.

    Check: reward scale; discount; reward/mean.
    """
    return Distribution(returns_M)


@metric(
    "advantage",
    unit="1",
    good="near zero",
    example="mean 0.0, std 1.0, min -2.4, max 1.8",
    names=(
        verl("critic/advantages/{mean,max,min}"),
        verl(
            "critic/advantages/std",
            stat="std",
            same=False,
            note="the published glossary lists it; veRL does not log it",
        ),
        rlinf("rollout/advantages_{mean,max,min}", note="after normalisation"),
        trinity(
            "critic/advantages/{mean,max,min}",
            same=False,
            note="over the attention mask, so tool and environment text is counted",
        ),
    ),
    alarms=(
        Alarm(
            "outside",
            (-10.0, 10.0),
            "bad",
            "Jones, rl-debugging: advantages within ±10, ideally ±3",
            says="advantages are out of scale",
            stat="max",
        ),
        Alarm(
            "below",
            -10.0,
            "bad",
            "Jones, rl-debugging: advantages within ±10, ideally ±3",
            says="advantages are out of scale",
            stat="min",
        ),
        Alarm(
            "above",
            5.0,
            "watch",
            "NeMo-RL grpo.md: clip at ±5 when a tiny reward spread blows advantages up",
            says="advantages were divided by a tiny spread",
            stat="max",
        ),
    ),
)
def advantage(advantages_M: Any) -> Distribution:
    """How much better than expected each token in the loss was.

    Definition: advantages over tokens in the loss (mask), every token counting once: mean, standard
    deviation (ddof 1), minimum, maximum and quantiles. A value given per sample counts once for
    each of the sample's tokens.

    Read: When normalised, the mean is near 0 and the spread near 1. A mean away from 0 means that
    long answers differ from short ones; a spread of 0 means that nothing is learned.

    Check: group/zero_spread; reward/std; the normalisation.
    """
    return Distribution(advantages_M)


@metric(
    "critic/explained_variance",
    unit="1",
    good="up",
    range=(None, 1.0),
    healthy=(0.2, 1.0),
    example="0.78: the critic explains 78 % of the variance of returns",
    names=(
        verl(
            "critic/vf_explained_var",
            note="1e-5 is added to the variance of returns: critic/explained_variance_stabilised",
        ),
        rlinf("train/critic/explained_variance"),
        rlinf("critic/training/critic/explained_variance"),
    ),
    alarms=(
        Alarm(
            "below",
            0.0,
            "bad",
            "Jones, rl-debugging: negative is worse than a constant",
            says="the critic is worse than a constant",
        ),
        Alarm("below", 0.2, "watch", "practice: advantages are mostly noise below", says="the critic explains little"),
    ),
)
def explained_variance(returns_M: Any, old_values_M: Any) -> ExplainedVariance:
    """Share of the returns' variance that the critic explains.

    Definition: 1 - Var(returns - old_values) / Var(returns) over tokens in the loss (mask), pooled
    over all parts of the step. (The mean of the micro-batches' values is a different, lower
    number.) ddof cancels. NaN when returns do not vary. It does not see a constant bias of the
    critic.

    Read: 1 is perfect, 0 is no better than predicting the mean, negative is worse. It rises over
    the first hundreds of steps.

    Check: critic/loss; reward scale and masks; critic learning rate; critic/values/mean compared
    with critic/returns/mean, for a constant bias.
    """
    variance: ExplainedVariance = ExplainedVariance.of(returns_M, old_values_M)
    return variance


@metric(
    "critic/explained_variance_stabilised",
    unit="1",
    good="up",
    range=(None, 1.0),
    example="0.78",
    names=(verl("critic/vf_explained_var", override=True),),
)
def explained_variance_stabilised(returns_M: Any, old_values_M: Any) -> StabilisedExplainedVariance:
    """Explained variance as veRL computes it, with a small constant in the denominator.

    Definition: 1 - Var(returns - old_values) / (Var(returns) + 1e-5) over tokens in the loss
    (mask), pooled, ddof 1. Equal to critic/explained_variance to five digits unless returns hardly
    vary. When they do not vary at all it is a large negative number, or 1, and means nothing.

    Read: Use critic/explained_variance instead.

    Check: critic/returns/std.
    """
    variance: StabilisedExplainedVariance = StabilisedExplainedVariance.of(returns_M, old_values_M)
    return variance


@metric("critic/residual_variance", unit="1", good="down", range=(0.0, None), example="0.22")
def residual_variance(returns_M: Any, old_values_M: Any) -> ResidualVariance:
    """Share of the returns' variance that the critic leaves unexplained.

    Definition: Var(returns - old_values) / Var(returns) over tokens in the loss (mask), pooled; 1 -
    critic/explained_variance. NaN when returns do not vary.

    Read: Starts near 1 and falls. Above 1, the critic adds noise to the advantages.

    Check: critic/explained_variance; critic/loss.
    """
    variance: ResidualVariance = ResidualVariance.of(returns_M, old_values_M)
    return variance


@derived
def value_loss_rows_S(
    values_M: Any, returns_M: Any, rows_M: Any, old_values_M: Any = None, value_clip: float | None = None
) -> Any:
    """Sum over each sample of half the squared error, or half the clipped one if larger."""
    error = values_M - returns_M
    loss = error * error
    if old_values_M is not None and value_clip is not None:
        loss = ops.maximum(loss, _clamped_error(values_M, returns_M, old_values_M, value_clip))
    return ops.row_sum(loss, rows_M) / 2


@derived
def value_clipped_rows_S(values_M: Any, returns_M: Any, rows_M: Any, old_values_M: Any, value_clip: float) -> Any:
    error = values_M - returns_M
    return ops.row_sum(_clamped_error(values_M, returns_M, old_values_M, value_clip) > error * error, rows_M)


def _clamped_error(values: Any, targets: Any, old: Any, clip: float) -> Any:
    """Squared error of the value clamped to old ± clip. A value inside does not change."""
    error = ops.minimum(ops.maximum(values, old - clip), old + clip) - targets
    return error * error


@metric(
    "critic/loss",
    unit="reward²",
    good="down",
    range=(0.0, None),
    example="0.24",
    names=(
        verl(
            "critic/vf_loss",
            versions=">=0.9",
            note="depends on loss_agg_mode; equal under token-mean, otherwise see critic/loss_configured",
        ),
        verl("critic/vf_loss", versions="<0.9", same=False, note="summed over mini-batches in the FSDP worker"),
        verl("critic/loss", note="engine workers only"),
        openrlhf("critic_loss", same=False, note="an unweighted mean over micro-batches"),
        trl(
            "loss/value_avg",
            trainer="ppo",
            same=False,
            note="divided by num_mini_batches, because TRL averages over slots that it never fills",
        ),
        rlinf("train/critic/value_loss", same=False, note="a Huber loss, not half the squared error"),
        rlinf("critic/training/critic/final_value_loss", same=False, note="a Huber loss, not half the squared error"),
        rlinf("train/critic/final_value_loss", same=False, note="a Huber loss, not half the squared error"),
        trinity("critic/vf_loss"),
    ),
    alarms=(
        Alarm(
            "above times opening",
            10.0,
            "bad",
            "TRL ppo_trainer.md: the value loss spikes or becomes NaN when training goes wrong",
            says="the critic diverges",
        ),
    ),
)
def value_loss(value_loss_rows_S: Any, tokens_M_S: Any) -> Mean:
    """How far the current critic is from its targets.

    Definition: mean over tokens in the loss (mask) of ½ (values - returns)². With value_clip and
    old_values, ½ of the larger of that squared error and the squared error of values clamped to
    old_values ± value_clip.

    Read: Falls while the critic learns and rises with the spread of the returns, so compare the
    two. A spike or NaN means that the critic diverges.

    Check: reward scale; critic/returns/std; critic learning rate; masks.
    """
    return Mean(float(value_loss_rows_S.sum()), float(tokens_M_S.sum()))


@metric(
    "critic/loss_configured",
    unit="reward²",
    good="down",
    range=(0.0, None),
    example="0.24",
    names=(verl("critic/vf_loss", versions=">=0.9", override=True),),
)
def value_loss_configured(
    value_loss_rows_S: Any, tokens_M_S: Any, loss_agg: str, loss_scale: float | None = None
) -> Mean | None:
    """The critic's loss under the trainer's loss aggregation.

    Definition: same as critic/loss over tokens in the loss (mask), aggregated according to the
    batch's loss_agg.

    Read: With token-mean it equals critic/loss. With a sum over tokens it grows with length.

    Check: critic/loss.
    """
    return aggregate(value_loss_rows_S, tokens_M_S, loss_agg, loss_scale)


@metric(
    "critic/clip",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="0.13",
    names=(
        verl("critic/vf_clipfrac"),
        trinity("critic/vf_clipfrac"),
        trl(
            "val/clipfrac_avg",
            trainer="ppo",
            same=False,
            note="divided by num_mini_batches, because TRL averages over slots that it never fills",
        ),
        rlinf(
            "train/critic/value_clip_ratio",
            same=False,
            note=(
                "compares a clipped difference with its own bound, so it is rounding noise: 0.37 where "
                "the true value was 0.97"
            ),
        ),
    ),
)
def value_clip_share(value_clipped_rows_S: Any, tokens_M_S: Any) -> Mean:
    """Share of tokens whose value loss is clipped.

    Definition: tokens in the loss (mask) where the squared error of the clamped value is strictly
    larger than that of the value itself, divided by tokens in the loss. Needs value_clip and
    old_values.

    Read: Should be small. A high share means that the critic moves too far in one step, or that
    value_clip is too tight for the scale of the returns.

    Check: critic learning rate; critic/returns/std compared with value_clip.
    """
    return Mean(float(value_clipped_rows_S.sum()), float(tokens_M_S.sum()))


@metric(
    "critic/lr",
    unit="1",
    good="context",
    range=(0.0, None),
    example="1e-5",
    names=(
        verl("critic/lr"),
        trinity("critic/lr"),
        openrlhf("critic_lr"),
        rlinf("train/critic/lr"),
        rlinf("critic/training/critic/lr"),
    ),
)
def critic_learning_rate(critic_lr: float) -> Last:
    """Learning rate of the critic.

    Definition: the scheduler's value for this step.

    Read: Follows its schedule. It is usually larger than the policy's.

    Check: critic/loss; critic/grad_norm.
    """
    return Last(critic_lr, 0)


@metric(
    "critic/grad_norm",
    unit="1",
    good="steady",
    range=(0.0, None),
    example="2.1",
    names=(
        verl("critic/grad_norm"),
        trinity("critic/grad_norm"),
        openrlhf("critic_grad_norm"),
        rlinf("train/critic/grad_norm"),
        rlinf("critic/training/critic/grad_norm"),
    ),
)
def critic_gradient_norm(critic_grad_norm: float) -> Mean:
    """Size of the critic's gradient before clipping.

    Definition: L2 norm over all parameters of the critic, averaged over the updates of the step.

    Read: Spikes when returns are out of scale.

    Check: critic/loss; critic/returns/max.
    """
    return Mean(critic_grad_norm, 1.0)
