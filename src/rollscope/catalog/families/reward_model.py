"""Reward models trained on pairs, from the scores of the chosen and the rejected answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.keys import key
from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.partial import Mean
from rollscope.catalog.reported import openrlhf, reported, trl
from rollscope.catalog.sequence import compared
from rollscope.catalog.spec import Alarm, metric

from .preference import minus_log_sigmoid

key(
    "score_margin",
    "sample",
    "how much better the chosen answer is according to the data; the reward model must reach it as a margin",
)


@metric(
    "reward_model/accuracy",
    unit="share",
    good="up",
    range=(0.0, 1.0),
    example="scores 1.0 over 0.2, 0.1 over 0.4: 0.5",
    names=[
        trl(
            "accuracy",
            trainer="reward",
            note="the mean of the means of ranks and micro-batches; ours weights every pair the same",
        ),
        trl("rm/accuracy", trainer="reward", same=False, note="the published glossary's name; TRL writes accuracy"),
        openrlhf("acc", trainer="rm"),
        openrlhf("acc_mean", trainer="rm", same=False, note="a running mean on one rank"),
        openrlhf("rm/accuracy", trainer="rm", same=False, note="the published glossary's name; OpenRLHF writes acc"),
    ],
)
def accuracy(chosen_score_S: Any, rejected_score_S: Any) -> Mean:
    """How often the reward model prefers the better answer.

    Definition: mean over pairs of 1 where chosen_score > rejected_score (strictly). A tie is a
    miss.

    Read: 0.5 is chance. 0.65 to 0.8 is usual on human preferences, because people do not agree with
    each other more often. A high value without a gain downstream means that the judge learned a
    shortcut.

    Check: accuracy on held-out pairs; accuracy of always choosing the longer answer; label noise.
    """
    return compared(chosen_score_S > rejected_score_S, chosen_score_S, rejected_score_S)


@metric(
    "reward_model/margin",
    unit="score",
    good="up",
    example="1.0 - 0.2: 0.8",
    alarms=[
        Alarm(
            "below",
            0.0,
            "watch",
            "training metrics glossary, section 6",
            "the judge prefers the wrong answer on average",
            stat="mean",
        )
    ],
    names=[
        trl("margin", trainer="reward", stat="mean", note="like ours, without the data's own margin column"),
        trl("rm/reward_margin", trainer="reward", same=False, note="the published glossary's name; TRL writes margin"),
        openrlhf(
            "rm/reward_margin",
            trainer="rm",
            same=False,
            note="the published glossary's name; OpenRLHF writes chosen_reward and reject_reward",
        ),
    ],
)
def margin(chosen_score_S: Any, rejected_score_S: Any) -> Distribution:
    """How decisive the judge is: score of the chosen answer minus score of the rejected one.

    Definition: chosen_score - rejected_score within each pair.

    Read: Grows with training. Near zero, the judge no longer tells answers apart. Growth without
    bound on training pairs only is overfitting.

    Check: the margin on held-out pairs; scale of the scores, because a margin has no unit of its
    own.
    """
    return Distribution(chosen_score_S - rejected_score_S)


@metric(
    "reward_model/loss",
    unit="nats",
    good="down",
    range=(0.0, None),
    example="equal scores: 0.6931",
    names=[
        trl(
            "loss",
            trainer="reward",
            same=False,
            note="the trainer's loss since the last log, including the center_rewards_coefficient term if it is set",
        ),
        trl("rm/loss", trainer="reward", same=False, note="the published glossary's name; TRL writes loss"),
        openrlhf("loss", trainer="rm", same=False, note="logsigmoid or logexp, plus the auxiliary loss"),
        openrlhf("loss_mean", trainer="rm", same=False, note="a running mean on one rank"),
        openrlhf("rm/loss", trainer="rm", same=False, note="the published glossary's name; OpenRLHF writes loss"),
    ],
)
def loss(chosen_score_S: Any, rejected_score_S: Any, score_margin_S: Any = None) -> Mean:
    """The Bradley-Terry loss of the reward model.

    Definition: mean over pairs of -log sigmoid(chosen_score - rejected_score - score_margin), with
    score_margin 0 when it is not given.

    Read: Falls from log 2 = 0.693. Below 0.1 on training pairs, the model has memorised them.

    Check: held-out loss; learning rate; pairs with swapped labels.
    """
    margin = 0.0 if score_margin_S is None else score_margin_S
    return Mean.of(minus_log_sigmoid(chosen_score_S - rejected_score_S - margin))


@metric(
    "reward_model/score",
    unit="score",
    good="steady",
    example="chosen 1.0, 0.1 and rejected 0.2, 0.4: mean 0.425",
    names=[
        trl(
            "{mean,min,max}_reward",
            trainer="reward",
            note="TRL averages the minima and maxima of micro-batches; ours are those of the whole step",
        ),
        openrlhf("eval/reward_mean", trainer="rm", stat="mean", note="on the evaluation set"),
        openrlhf("eval/reward_std", trainer="rm", stat="std", note="on the evaluation set, ddof 1"),
    ],
)
def score(chosen_score_S: Any, rejected_score_S: Any) -> Distribution:
    """Scores that the reward model gives, chosen and rejected answers together.

    Definition: chosen_score and rejected_score of all pairs, pooled: two values per pair.

    Read: Training only uses differences, so the level is free to drift. A drift between versions of
    the judge breaks every threshold built on it.

    Check: centring of rewards; the same answers under the previous version of the judge.
    """
    return Distribution(np.concatenate([np.asarray(chosen_score_S), np.asarray(rejected_score_S)]))


@metric(
    "reward_model/chosen_score",
    unit="score",
    good="up",
    example="mean 0.55",
    names=[openrlhf("chosen_reward", trainer="rm", stat="mean")],
)
def chosen(chosen_score_S: Any) -> Distribution:
    """Scores of the preferred answers.

    Definition: chosen_score, one value per pair.

    Read: Compare with reward_model/rejected_score; alone it may drift.

    Check: reward_model/margin; reward_model/rejected_score.
    """
    return Distribution(chosen_score_S)


@metric(
    "reward_model/rejected_score",
    unit="score",
    good="down",
    example="mean 0.3",
    names=[openrlhf("reject_reward", trainer="rm", stat="mean")],
)
def rejected(rejected_score_S: Any) -> Distribution:
    """Scores of the answers that were not preferred.

    Definition: rejected_score, one value per pair.

    Read: Compare with reward_model/chosen_score; alone it may drift.

    Check: reward_model/margin; reward_model/chosen_score.
    """
    return Distribution(rejected_score_S)


@metric(
    "reward_model/grad_norm",
    unit="norm",
    good="steady",
    range=(0.0, None),
    example="1.78",
    alarms=[
        Alarm("above times opening", 10.0, "bad", "training metrics glossary, section 2.2", "ten times its usual size")
    ],
    names=[
        trl(
            "rm/grad_norm",
            trainer="reward",
            same=False,
            note="the published glossary's name; TRL writes grad_norm, which is optimiser/grad_norm",
        ),
        openrlhf(
            "rm/grad_norm", trainer="rm", same=False, note="the published glossary's name; OpenRLHF writes grad_norm"
        ),
    ],
)
def grad_norm(chosen_score_S: Any, grad_norm: Any) -> Mean:
    """Gradient norm of the reward model.

    Definition: L2 norm of the gradient before clipping, mean over the updates of the step; taken
    from `grad_norm` of a batch that contains scores of pairs.

    Read: Ten times its usual size means a bad batch or a learning rate that is too high.

    Check: learning rate; longest pair in the batch; reward_model/loss.
    """
    return Mean(float(grad_norm), 1.0)


reported(
    "reward_model/process_accuracy",
    meaning="Share of step labels that a process reward model gets right.",
    definition=(
        "share of labelled positions (label not -100) whose most likely class is the label, over the evaluation set."
    ),
    read="Compare with the share of the most frequent label, which a constant answer would reach.",
    check="balance of the step labels",
    unit="share",
    good="up",
    example="0.84",
    producer="trainer",
    needs=("the evaluation loop of the PRM trainer",),
    range=(0.0, 1.0),
    names=(trl("eval_accuracy", trainer="prm", versions="<1.14"),),
)
