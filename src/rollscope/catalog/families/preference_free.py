"""Preference learning without a reference model: CPO, SimPO, ORPO."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, reported, trl
from rollscope.catalog.sequence import compared
from rollscope.catalog.spec import derived, metric

from .preference import minus_log_sigmoid

key("gamma", "step", "target margin of SimPO, in units of beta times nats per token")


@derived
def chosen_logp_mean(chosen_logp_S: Any, chosen_tokens_S: Any) -> Any:
    return chosen_logp_S / chosen_tokens_S


@derived
def rejected_logp_mean(rejected_logp_S: Any, rejected_tokens_S: Any) -> Any:
    return rejected_logp_S / rejected_tokens_S


@derived
def log_odds(chosen_logp_mean: Any, rejected_logp_mean: Any) -> Any:
    """log(odds(chosen) / odds(rejected)); odds(p) = p / (1 - p), p the geometric mean."""
    return (chosen_logp_mean - rejected_logp_mean) - (
        np.log(-np.expm1(chosen_logp_mean)) - np.log(-np.expm1(rejected_logp_mean))
    )


@metric(
    "preference/free/chosen_reward",
    unit="nats",
    good="up",
    range=(None, 0.0),
    example="beta 0.1, log p -36: -3.6",
    names=[
        trl(
            "rewards/chosen",
            trainer="cpo,tpo",
            stat="mean",
            same=False,
            note=(
                "the same number for the sigmoid and hinge losses; with simpo or ipo, TRL divides by "
                "length; with AlphaPO, it reshapes"
            ),
        )
    ],
)
def free_chosen(chosen_logp_S: Any, beta: Any) -> Distribution:
    """Reward of the preferred answers when there is no reference model.

    Definition: beta * log p(chosen), summed over tokens; one value per pair.

    Read: Always below 0. Longer answers score lower, so compare only within one data set.

    Check: preference/free/margin; answer lengths; beta.
    """
    return Distribution(beta * chosen_logp_S)


@metric(
    "preference/free/rejected_reward",
    unit="nats",
    good="down",
    range=(None, 0.0),
    example="beta 0.1, log p -41: -4.1",
    names=[trl("rewards/rejected", trainer="cpo,tpo", stat="mean", same=False, note="see the note on rewards/chosen")],
)
def free_rejected(rejected_logp_S: Any, beta: Any) -> Distribution:
    """Reward of the rejected answers when there is no reference model.

    Definition: beta * log p(rejected), summed over tokens; one value per pair.

    Read: Falls faster than the chosen reward when training works.

    Check: preference/free/margin; lengths on both sides.
    """
    return Distribution(beta * rejected_logp_S)


@metric(
    "preference/free/margin",
    unit="nats",
    good="up",
    example="-3.6 against -4.1: 0.5",
    names=[trl("rewards/margins", trainer="cpo,tpo", stat="mean", same=False, note="see the note on rewards/chosen")],
)
def free_margin(chosen_logp_S: Any, rejected_logp_S: Any, beta: Any) -> Distribution:
    """Difference between the two answers of a pair when there is no reference model.

    Definition: beta * (log p(chosen) - log p(rejected)), within each pair.

    Read: Grows with training. A sum over tokens rewards short chosen answers, which is why SimPO
    divides by length.

    Check: preference/simpo/margin; whether chosen answers are simply shorter.
    """
    return Distribution(beta * (chosen_logp_S - rejected_logp_S))


@metric(
    "preference/free/accuracy",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="2 of 4 pairs: 0.5",
    names=[trl("rewards/accuracies", trainer="cpo,tpo", same=False, note="see the note on rewards/chosen")],
)
def free_accuracy(chosen_logp_S: Any, rejected_logp_S: Any) -> Mean:
    """Share of pairs in which the preferred answer is the more likely one.

    Definition: mean over pairs of 1 where log p(chosen) > log p(rejected) (strictly), both summed
    over tokens.

    Read: 0.5 is chance. Because log-probabilities are summed, length alone can change it.

    Check: lengths of both sides; preference/simpo/accuracy.
    """
    return compared(chosen_logp_S > rejected_logp_S, chosen_logp_S, rejected_logp_S)


@metric(
    "preference/simpo/chosen_reward",
    unit="nats/token",
    good="up",
    range=(None, 0.0),
    example="beta 2, -0.5 nats a token: -1.0",
    names=[
        trl(
            "rewards/chosen",
            trainer="simpo,orpo",
            stat="mean",
            same=False,
            note="the same number for loss_type simpo and for ORPO",
        )
    ],
)
def simpo_chosen(chosen_logp_mean: Any, beta: Any) -> Distribution:
    """Reward of the preferred answers, per token.

    Definition: beta * mean log p over the chosen answer's tokens; one value per pair.

    Read: Below 0, whatever the length. Compare with preference/simpo/rejected_reward.

    Check: preference/simpo/margin.
    """
    return Distribution(beta * chosen_logp_mean)


@metric(
    "preference/simpo/rejected_reward",
    unit="nats/token",
    good="down",
    range=(None, 0.0),
    example="beta 2, -0.8 nats a token: -1.6",
    names=[
        trl(
            "rewards/rejected",
            trainer="simpo,orpo",
            stat="mean",
            same=False,
            note="the same number for loss_type simpo and for ORPO",
        )
    ],
)
def simpo_rejected(rejected_logp_mean: Any, beta: Any) -> Distribution:
    """Reward of the rejected answers, per token.

    Definition: beta * mean log p over the rejected answer's tokens; one value per pair.

    Read: Falls away from preference/simpo/chosen_reward.

    Check: preference/simpo/margin.
    """
    return Distribution(beta * rejected_logp_mean)


@metric(
    "preference/simpo/margin",
    unit="nats/token",
    good="up",
    example="beta 2, -0.5 against -0.8 nats a token: 0.6",
    names=[
        trl(
            "rewards/margins",
            trainer="simpo,orpo",
            stat="mean",
            same=False,
            note="the same number for loss_type simpo and for ORPO",
        )
    ],
)
def simpo_margin(chosen_logp_mean: Any, rejected_logp_mean: Any, beta: Any) -> Distribution:
    """Difference between the two answers of a pair, per token.

    Definition: beta * (mean log p(chosen) - mean log p(rejected)), means over each answer's tokens
    (chosen_tokens, rejected_tokens).

    Read: Does not depend on length. SimPO requires it to exceed gamma.

    Check: preference/simpo/loss; gamma divided by beta.
    """
    return Distribution(beta * (chosen_logp_mean - rejected_logp_mean))


@metric(
    "preference/simpo/accuracy",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="3 of 4 pairs: 0.75",
    names=[
        trl(
            "rewards/accuracies",
            trainer="simpo,orpo",
            same=False,
            note="the same number for loss_type simpo and for ORPO",
        )
    ],
)
def simpo_accuracy(chosen_logp_mean: Any, rejected_logp_mean: Any) -> Mean:
    """Share of pairs in which the preferred answer is the more likely one per token.

    Definition: mean over pairs of 1 where mean log p(chosen) > mean log p(rejected) (strictly).

    Read: 0.5 is chance. Above 0.9 the pairs are learned.

    Check: held-out pairs; preference/simpo/margin.
    """
    return compared(chosen_logp_mean > rejected_logp_mean, chosen_logp_mean, rejected_logp_mean)


@metric("preference/simpo/loss", unit="nats", good="down", range=(0.0, None), example="margin 0.6, gamma 0.5: 0.6444")
def simpo_loss(chosen_logp_mean: Any, rejected_logp_mean: Any, beta: Any, gamma: Any) -> Mean:
    """The SimPO loss.

    Definition: mean over pairs of -log sigmoid(beta * (mean log p(chosen) - mean log p(rejected)) -
    gamma).

    Read: Should fall. It starts above log 2, because the margin has to exceed gamma.

    Check: gamma: is the target so large that every pair counts as a mistake?;
    preference/simpo/margin.
    """
    return Mean.of(minus_log_sigmoid(beta * (chosen_logp_mean - rejected_logp_mean) - gamma))


@metric(
    "preference/orpo/log_odds",
    unit="nats",
    good="up",
    example="0.3",
    names=[trl("log_odds_chosen", trainer="orpo", stat="mean")],
)
def orpo_log_odds(log_odds: Any) -> Distribution:
    """ORPO's log odds ratio between the two answers of a pair.

    Definition: log(odds(chosen) / odds(rejected)), odds(p) = p / (1 - p), p = exp(mean log p over
    the answer's tokens).

    Read: Above 0, the preferred answer is favoured. It should climb.

    Check: preference/orpo/log_sigmoid; the NLL of the chosen answers.
    """
    return Distribution(log_odds)


@metric(
    "preference/orpo/log_sigmoid",
    unit="nats",
    good="up",
    range=(None, 0.0),
    example="log odds 0: -0.6931",
    names=[trl("log_odds_ratio", trainer="orpo")],
)
def orpo_log_sigmoid(log_odds: Any) -> Mean:
    """The preference part of ORPO's loss, before its weight and sign.

    Definition: mean over pairs of log sigmoid(log odds).

    Read: Rises from -0.693 towards 0.

    Check: beta compared with the NLL part; preference/orpo/log_odds.
    """
    return Mean.of(-minus_log_sigmoid(log_odds))


for _side in ("chosen", "rejected"):
    reported(
        f"preference/logits/{_side}",
        meaning=f"Mean logit over the {_side} answers' tokens.",
        definition=(
            "mean over the vocabulary of the raw logits, averaged over the completion tokens of the "
            f"{_side} answers. It measures drift of the output layer, not a probability."
        ),
        read=(
            "No healthy level. A steady run-away of both sides is the logits growing, which "
            "temperature hides and overflow does not."
        ),
        check="optimiser/grad_norm; weight decay; precision of the output layer",
        unit="logit",
        good="context",
        example="-0.0063",
        needs=("the trainer's logits",),
        producer="trainer",
        names=(
            trl(f"logits/{_side}"),
            trl(
                f"logits/{_side}",
                trainer="cpo,orpo,tpo",
                same=False,
                note="a mean over all positions, including prompt and padding",
            ),
            trl(f"logits/{_side}", trainer="bco", versions="<1.14"),
        ),
    )

reported(
    "preference/nll",
    meaning="Language-model loss on the preferred answers.",
    definition=(
        "mean over tokens of -log p(token) on the chosen answers; CPO over its labels, ORPO over "
        "prompt and chosen answer, OpenRLHF over the chosen answer."
    ),
    read="Keeps the model fluent while the preferences change it. It should not rise while the margin grows.",
    check="weight of the NLL term (cpo_alpha, nll_loss_coef); preference/logp/chosen",
    unit="nats/token",
    good="down",
    example="1.9",
    producer="trainer",
    needs=("the trainer's token losses on chosen answers",),
    names=(
        trl("nll_loss", trainer="cpo,orpo", note="TRL writes 0 if cpo_alpha is 0: the term is off, not perfect"),
        openrlhf("nll_loss", trainer="dpo"),
    ),
)
reported(
    "preference/kto/kl",
    meaning="KTO's estimate of how far the policy is from the reference.",
    definition=(
        "mean over the batch of log p - log p_ref on mismatched pairs of prompt and answer, with "
        "negative values set to 0; 0 when the trainer does not compute it."
    ),
    read="The zero point of KTO's losses: answers are judged against it. A steady climb means drift.",
    check="preference/chosen_reward and preference/rejected_reward; beta",
    unit="nats",
    good="steady",
    example="0.02",
    names=(
        trl(
            "kl",
            trainer="kto",
            same=False,
            note="a gathered mean that is then clamped, so micro-batches with a negative estimate read 0",
        ),
    ),
)
reported(
    "preference/bco/delta",
    meaning="BCO's running reward threshold.",
    definition=(
        "exponential running mean of the midpoint between the chosen and rejected rewards; it shifts BCO's loss."
    ),
    read="Follows the rewards. A jump means that the data changed.",
    check="preference/margin; density ratio settings",
    unit="nats",
    good="steady",
    example="0.4",
    kind="last",
    names=(trl("delta", trainer="bco", versions="<1.14"),),
)
