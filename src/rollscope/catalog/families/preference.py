"""Preference learning (DPO and related losses) on pairs. One pair is one sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, trinity, trl
from rollscope.catalog.sequence import compared
from rollscope.catalog.spec import Alarm, derived, metric

key("chosen_tokens", "sample", "tokens of the chosen answer, for losses that divide by length")
key("rejected_tokens", "sample", "tokens of the rejected answer")
key("label_smoothing", "step", "share of pairs that a preference loss assumes to be labelled the wrong way round")


@derived
def chosen_reward(chosen_logp_S: Any, ref_chosen_logp_S: Any, beta: Any) -> Any:
    return beta * (chosen_logp_S - ref_chosen_logp_S)


@derived
def rejected_reward(rejected_logp_S: Any, ref_rejected_logp_S: Any, beta: Any) -> Any:
    return beta * (rejected_logp_S - ref_rejected_logp_S)


def minus_log_sigmoid(x: Any) -> Any:
    """-log(1 / (1 + e^-x)), without overflow for large or small x."""
    return np.logaddexp(0.0, -np.asarray(x, np.float64))


@metric(
    "preference/chosen_reward",
    unit="nats",
    good="context",
    example="beta 0.1, chosen answer went from -40 to -38 nats: 0.2",
    names=[
        trl(
            "rewards/chosen",
            stat="mean",
            note="the mean of micro-batch means over the window; ours weights every pair the same",
        ),
        trl(
            "rewards/chosen",
            trainer="kto",
            stat="mean",
            note="KTO has single answers, not pairs: the mean over the desirable answers",
        ),
        trl("rewards/chosen", trainer="bco", stat="mean", versions="<1.14"),
        trl("rewards/chosen", trainer="xpo", stat="mean", versions="<1.14"),
        openrlhf("chosen_reward", trainer="dpo", stat="mean"),
        trinity("actor/chosen_reward", stat="mean"),
    ],
)
def chosen(chosen_reward: Any) -> Distribution:
    """Implicit reward of the preferred answers.

    Definition: beta * (log p(chosen) - log p_ref(chosen)), both summed over the answer's tokens;
    one value per pair. Needs the reference's log-probabilities.

    Read: The difference to the rejected answers matters. In DPO it is common that both fall: the
    margin grows although the good answer also becomes less likely.

    Check: preference/rejected_reward; preference/logp/chosen: does the model unlearn good answers?;
    beta and learning rate.
    """
    return Distribution(chosen_reward)


@metric(
    "preference/rejected_reward",
    unit="nats",
    good="down",
    example="beta 0.1, rejected answer went from -30 to -34 nats: -0.4",
    names=[
        trl("rewards/rejected", stat="mean"),
        trl("rewards/rejected", trainer="kto", stat="mean", note="the mean over the undesirable single answers"),
        trl("rewards/rejected", trainer="bco", stat="mean", versions="<1.14"),
        trl("rewards/rejected", trainer="xpo", stat="mean", versions="<1.14"),
        openrlhf("reject_reward", trainer="dpo", stat="mean"),
        trinity("actor/rejected_reward", stat="mean"),
    ],
)
def rejected(rejected_reward: Any) -> Distribution:
    """Implicit reward of the answers that were not preferred.

    Definition: beta * (log p(rejected) - log p_ref(rejected)), summed over the answer's tokens; one
    value per pair.

    Read: Falls as the model learns what to avoid. A steep fall without a rise on the chosen side
    means that the margin comes from forgetting.

    Check: preference/chosen_reward; preference/margin; length of the rejected answers, because a
    sum over tokens favours long ones.
    """
    return Distribution(rejected_reward)


@metric(
    "preference/margin",
    unit="nats",
    good="up",
    example="chosen 0.2, rejected -0.4: 0.6",
    names=[
        trl("rewards/margins", stat="mean"),
        trl("rewards/margins", trainer="xpo", stat="mean", versions="<1.14"),
        trl(
            "rewards/margins",
            trainer="kto",
            same=False,
            note=(
                "KTO and BCO subtract two batch means of chosen and rejected answers that do not belong "
                "together; no pair has that margin"
            ),
        ),
        trl(
            "rewards/margins",
            trainer="bco",
            same=False,
            versions="<1.14",
            note="a difference of two batch means, not a mean of differences within pairs",
        ),
        trl(
            "rewards/margins",
            trainer="nash_md",
            same=False,
            versions="<1.14",
            note="Nash-MD logs log p(model) - log p_ref on the model's own answers: log-probabilities, not rewards",
        ),
    ],
)
def margin(chosen_reward: Any, rejected_reward: Any) -> Distribution:
    """How much more implicit reward the preferred answer of a pair has.

    Definition: chosen reward minus rejected reward, within each pair.

    Read: Shows how well the model tells good from bad answers. It should grow, also on held-out
    pairs; growth on training pairs alone is overfitting.

    Check: the margin on the evaluation set; preference/accuracy near 1; epochs over the same pairs;
    beta.
    """
    return Distribution(chosen_reward - rejected_reward)


@metric(
    "preference/accuracy",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="3 of 4 pairs have the chosen reward above: 0.75",
    alarms=[
        Alarm(
            "above",
            0.99,
            "watch",
            "training metrics glossary, section 12",
            "nearly every training pair is ranked correctly: if evaluation does not improve, it is overfitting",
        )
    ],
    names=[
        trl(
            "rewards/accuracies",
            note="strictly greater, so it is 0 at the first step, when policy and reference are the same",
        ),
        trl("rewards/accuracies", trainer="xpo", versions="<1.14"),
        trl(
            "rewards/accuracies",
            trainer="nash_md",
            same=False,
            versions="<1.14",
            note=(
                "the share of the model's answers that gained probability relative to the reference; no "
                "pair is compared"
            ),
        ),
        openrlhf("acc", trainer="dpo"),
        openrlhf(
            "acc_mean",
            trainer="dpo",
            same=False,
            note="a running mean on one rank since the epoch began, not the value of this step",
        ),
        trinity("actor/accuracy_mean"),
        trl("rewards/accuracy", same=False, note="the published glossary's spelling; TRL writes rewards/accuracies"),
    ],
)
def accuracy(chosen_reward: Any, rejected_reward: Any) -> Mean:
    """Share of pairs in which the preferred answer has the higher implicit reward.

    Definition: mean over pairs of 1 where chosen reward > rejected reward (strictly). A tie is not
    a success, and before the first update every pair is a tie.

    Read: Starts at 0 (all ties), is near 0.5 once rounding breaks the ties, and climbs. 0.99 or
    more on training pairs without a better evaluation is overfitting.

    Check: preference/ties in the first steps; accuracy on held-out pairs; noisy or swapped labels,
    if it stalls near 0.5.
    """
    return compared(chosen_reward > rejected_reward, chosen_reward, rejected_reward)


@metric("preference/ties", unit="share", good="down", range=(0.0, 1.0), example="policy equal to the reference: 1.0")
def ties(chosen_reward: Any, rejected_reward: Any) -> Mean:
    """Share of pairs that the model does not tell apart at all.

    Definition: mean over pairs of 1 where chosen reward equals rejected reward exactly.

    Read: 1 before the first update and about 0 afterwards. If it stays high, the policy does not
    move or both answers are the same text.

    Check: duplicates in the data; a learning rate of 0; a reference that is the policy itself.
    """
    return compared(chosen_reward == rejected_reward, chosen_reward, rejected_reward)


@metric(
    "preference/loss",
    unit="nats",
    good="down",
    range=(0.0, None),
    example="margin 0: 0.6931",
    names=[
        trl(
            "loss",
            trainer="dpo",
            same=False,
            note=(
                "the trainer's own loss for the configured loss_type, averaged over the steps since the "
                "last log; ours is the sigmoid loss of this batch"
            ),
        ),
        trl(
            "loss/dpo",
            note="the published glossary's name; TRL's XPO logs its DPO part under it",
            trainer="xpo",
            versions="<1.14",
        ),
        trl("loss/dpo", trainer="dpo", same=False, note="the published glossary's name; TRL's DPO trainer logs `loss`"),
        trinity(
            "actor/dpo_loss", note="the sigmoid loss; with label smoothing it needs `label_smoothing` in the batch"
        ),
        openrlhf("loss", trainer="dpo", same=False, note="includes the NLL term; with --ipo it is another loss"),
        openrlhf("loss_mean", trainer="dpo", same=False, note="a running mean on one rank"),
        openrlhf("eval_loss", trainer="dpo", same=False, note="the same loss over the evaluation set"),
    ],
)
def loss(chosen_reward: Any, rejected_reward: Any, label_smoothing: Any = None) -> Mean:
    """The DPO loss: how surprised the model is by the preferences.

    Definition: mean over pairs of -(1 - s) log sigmoid(margin) - s log sigmoid(-margin), s =
    label_smoothing (0 when not given), margin in nats with beta inside.

    Read: Starts at exactly log 2 = 0.693 and falls. Below 0.1 the model has memorised the pairs.

    Check: preference/margin; the loss on held-out pairs; learning rate, if it jumps.
    """
    m, s = chosen_reward - rejected_reward, label_smoothing or 0.0
    return Mean.of((1 - s) * minus_log_sigmoid(m) + s * minus_log_sigmoid(-m))


@metric(
    "preference/logp/chosen",
    unit="nats",
    good="up",
    range=(None, 0.0),
    example="-36.0",
    names=[
        trl("logps/chosen", stat="mean"),
        trl("logps/chosen", trainer="bco", stat="mean", versions="<1.14"),
        trl("logps/chosen", trainer="kto", stat="mean", note="over the desirable single answers"),
        trl(
            "logps/chosen",
            trainer="nash_md",
            same=False,
            versions="<1.14",
            note="the model's log-probability of its own answers",
        ),
        trl(
            "logps/chosen",
            trainer="xpo",
            same=False,
            versions="<1.14",
            note="adds the reference's mean to the model's (TRL issue 6809)",
        ),
    ],
)
def logp_chosen(chosen_logp_S: Any) -> Distribution:
    """Log-probability of the preferred answers under the current policy.

    Definition: sum over the answer's tokens of log p, one value per pair.

    Read: Should not fall for long. A fall together with the rejected answers is the likelihood
    displacement that DPO is known for.

    Check: preference/chosen_reward; an NLL term on the chosen answers; learning rate.
    """
    return Distribution(chosen_logp_S)


@metric(
    "preference/logp/rejected",
    unit="nats",
    good="down",
    range=(None, 0.0),
    example="-29.7",
    names=[
        trl("logps/rejected", stat="mean"),
        trl("logps/rejected", trainer="bco", stat="mean", versions="<1.14"),
        trl("logps/rejected", trainer="kto", stat="mean", note="over the undesirable single answers"),
        trl(
            "logps/rejected",
            trainer="nash_md",
            same=False,
            versions="<1.14",
            note="the reference's log-probability of the model's answers",
        ),
        trl(
            "logps/rejected",
            trainer="xpo",
            same=False,
            versions="<1.14",
            note="a sum over two kinds of answers (TRL issue 6809)",
        ),
    ],
)
def logp_rejected(rejected_logp_S: Any) -> Distribution:
    """Log-probability of the answers that were not preferred, under the current policy.

    Definition: sum over the answer's tokens of log p, one value per pair.

    Read: Falls. Very long answers have very low sums, so compare only within one data set.

    Check: preference/logp/chosen; lengths on both sides.
    """
    return Distribution(rejected_logp_S)
