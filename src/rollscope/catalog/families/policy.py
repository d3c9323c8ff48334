"""The policy: its entropy and its log-probabilities."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.compute.vocabulary import entropy_of_logits
from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Last, Mean
from rollscope.catalog.reported import openrlhf, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, derived, metric

from .aggregation import aggregate


@derived
def entropy_A(logits_A: Any, temperature: float = 1.0) -> Any:
    return entropy_of_logits(logits_A, temperature)


@metric(
    "policy/entropy",
    unit="nats/token",
    good="steady",
    range=(0.0, None),
    example="a coin toss at every token: 0.693",
    names=(
        verl(
            "actor/entropy",
            note=(
                "aggregated by loss_agg_mode: a token mean only under token-mean, the default; otherwise "
                "see policy/entropy_aggregated"
            ),
        ),
        verl("actor/entropy_loss", note="engine workers only; not multiplied by the coefficient"),
        openrlhf("entropy_loss"),
        trl("entropy"),
        trl(
            "policy/entropy_avg",
            trainer="ppo",
            same=False,
            note=(
                "mean over all positions, padding included, and divided by num_mini_batches, because TRL "
                "averages over slots that it never fills"
            ),
        ),
        telescope("entropy", note="the value of one data-parallel rank"),
        rlinf("train/actor/entropy_loss", note="a positive entropy despite its name; 0 if the entropy bonus is off"),
        rlinf(
            "train/entropy_loss",
            same=False,
            note="the guide's spelling of train/actor/entropy_loss; RLinf does not log this key",
        ),
        rlinf("actor/training/actor/entropy_loss"),
        trinity("actor/entropy"),
        trinity("actor/entropy_loss"),
    ),
    alarms=(
        Alarm(
            "below times opening",
            0.1,
            "bad",
            (
                "relative to the run's own opening: absolute levels do not transfer (TRL says 2 to 10 "
                "nats, slime's checks 0 to 1)"
            ),
            says="the policy has collapsed",
        ),
        Alarm(
            "below",
            0.2,
            "watch",
            "TRL grpo_trainer.md: 0.2 nats is near-complete collapse",
            says="hardly any exploration is left",
        ),
        Alarm(
            "above times opening",
            3.0,
            "watch",
            "verl#2738: entropy rising through training",
            says="the policy becomes noise",
        ),
    ),
)
def entropy(entropy_A: Any) -> Mean:
    """How spread out the next-token distribution is.

    Definition: mean over the tokens the policy sampled (action_mask) of -Σ_v p(v) log p(v) over the
    whole vocabulary, at the sampling temperature. Always a mean over tokens, whatever the loss
    aggregation. Taken from `entropy`, or computed from `logits`.

    Read: High at first, lower later, but it should never drop suddenly. A fall to a tenth of its
    first values is a collapse: groups give equal answers and stop teaching. A rise means that the
    policy becomes noise.

    Check: policy/clip/high and policy/clip/low; spread of the reward inside groups; optimiser/lr;
    the sampling temperature.
    """
    return ops.mean(entropy_A)


@derived
def entropy_rows_S(entropy_A: Any, rows_A: Any) -> Any:
    return ops.row_sum(entropy_A, rows_A)


@metric(
    "policy/entropy_aggregated",
    unit="nats",
    good="steady",
    range=(0.0, None),
    example="seq-mean-token-sum of 200-token answers at 0.5 nats: 100",
    names=(verl("actor/entropy", override=True), verl("actor/entropy_loss", override=True)),
)
def entropy_aggregated(
    entropy_rows_S: Any, completion_tokens_S: Any, loss_agg: str, loss_scale: float | None = None
) -> Mean | None:
    """Entropy aggregated in the same way as the trainer's loss.

    Definition: entropy over the tokens the policy sampled (action_mask), aggregated according to
    the batch's loss_agg. With token-mean it equals policy/entropy; with a sum over tokens it grows
    with length.

    Read: Use policy/entropy instead, which is a token mean under every configuration. This entry
    exists because veRL logs it.

    Check: policy/entropy; the loss aggregation.
    """
    return aggregate(entropy_rows_S, completion_tokens_S, loss_agg, loss_scale)


@metric(
    "policy/entropy_bonus",
    unit="loss",
    good="context",
    example="coefficient 0.001 and 0.5 nats: 0.0005",
    names=(telescope("entropy_bonus"),),
)
def entropy_bonus(entropy_A: Any, entropy_coef: float) -> Mean:
    """Amount that the entropy bonus subtracts from the loss.

    Definition: entropy_coef times the mean entropy of the tokens the policy sampled (action_mask).

    Read: Compare with policy/loss_total: a bonus of the same size rewards noise as much as the
    task.

    Check: policy/entropy_coef; policy/entropy.
    """
    return Mean(ops.total(entropy_A) * entropy_coef, float(ops.size(entropy_A)))


@metric(
    "policy/entropy_sampled",
    unit="nats/token",
    good="steady",
    range=(0.0, None),
    example="tokens of probability 1/2 and 1/4: 1.04",
    names=(rlinf("train/actor/entropy", trainer="sac"),),
    alarms=(
        Alarm(
            "below times opening",
            0.1,
            "bad",
            "relative to the run's own opening, as for policy/entropy",
            says="the policy has collapsed",
        ),
    ),
)
def entropy_sampled(logp_A: Any) -> Mean:
    """Entropy estimated from the sampled tokens alone: how surprising they are.

    Definition: mean over the tokens the policy sampled (action_mask) of -logp. Equals
    policy/entropy in expectation when the current policy is the one that sampled.

    Read: Like policy/entropy, with more noise. If both exist and differ, the samples are off-policy
    or the temperatures differ.

    Check: policy/entropy; sampling temperature; the chat template, if the value is above 1 at the
    first step.
    """
    return Mean(-ops.total(logp_A), float(ops.size(logp_A)))


@derived
def surprise_S(old_logp_A: Any, rows_A: Any) -> Any:
    return -ops.row_sum(old_logp_A, rows_A)


@metric(
    "policy/entropy_sampled_sum",
    unit="nats/sequence",
    good="steady",
    range=(0.0, None),
    example="100 tokens at 0.5 nats: 50",
    names=(
        trl("objective/entropy", trainer="ppo", versions="1.12"),
        trl(
            "objective/entropy",
            trainer="ppo",
            versions="<1.12",
            same=False,
            note="padding holds +1.0, so every padded token subtracts 1",
        ),
        trl("objective/entropy", trainer="online_dpo,xpo,nash_md", same=False, note="padding is not masked out"),
    ),
)
def entropy_sampled_sum(surprise_S: Any, completion_tokens_S: Any) -> Mean:
    """How surprising a whole answer is.

    Definition: mean over sequences with at least one sampled token (action_mask) of Σ_t -old_logp,
    under the policy that sampled.

    Read: Grows with length as well as with uncertainty.

    Check: policy/entropy_sampled, the value per token; length/completion/mean.
    """
    return ops.mean(surprise_S[completion_tokens_S > 0])


@metric(
    "policy/logp",
    unit="nats/token",
    good="context",
    range=(None, 0.0),
    stats=("mean", "std", "min", "max"),
    example="mean -0.5, min -14: one token was written against odds of a million",
    alarms=(
        Alarm(
            "above",
            0.0,
            "bad",
            "a log-probability above 0 is not one (slime debug.md: template or checkpoint problem)",
            says="log-probabilities are broken",
            stat="max",
        ),
        Alarm(
            "below",
            -1.0,
            "watch",
            "slime train_metric_utils.py, first step: -1 < mean logp < 0 for its models",
            says="the model is surprised by its own samples",
            stat="mean",
        ),
    ),
)
def logp(logp_A: Any) -> Distribution:
    """Log-probability of the sampled tokens under the current policy.

    Definition: over the tokens the policy sampled (action_mask): mean, standard deviation (ddof 1),
    minimum and maximum of logp.

    Read: The mean is -policy/entropy_sampled. A value above 0 is impossible and means broken
    inputs. A very low minimum is one token that can dominate ratios.

    Check: chat template and tokeniser on both sides; policy/ratio/max; mismatch/logp_gap/max.
    """
    return Distribution(logp_A, histogram=False)


@metric("policy/entropy_coef", unit="1", good="context", example="0.001", names=(trl("entropy_coef", trainer="grpo"),))
def entropy_coefficient(entropy_coef: float) -> Last:
    """Weight of the entropy bonus in the loss.

    Definition: the value the trainer used in this step.

    Read: Constant, or adjusted by a controller with a target entropy.

    Check: policy/entropy; policy/entropy_bonus.
    """
    return Last(entropy_coef, 0)


@metric(
    "policy/kl_coef",
    unit="1",
    good="context",
    example="0.001",
    names=(
        verl("actor/kl_coef"),
        verl("actor/reward_kl_penalty_coeff", note="the coefficient before this step adapts it"),
        trinity("actor/kl_coef"),
        trinity("critic/kl_coef"),
    ),
)
def kl_coefficient(kl_coef: float) -> Last:
    """Weight of the KL term, in the loss or in the reward.

    Definition: the value the trainer used in this step, before an adaptive controller changes it.

    Read: Constant, or adjusted by a controller. A rise then means that the policy is farther from
    the reference than the target allows.

    Check: policy/kl_ref_k3; reward/mean.
    """
    return Last(kl_coef, 0)
