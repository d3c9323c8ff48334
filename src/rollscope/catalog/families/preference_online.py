"""Online preference learning in TRL (Online DPO, Nash-MD, XPO, A2PO), with known faults."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.reported import reported, trl

UNMASKED = "TRL does not mask padding (issue 6809), so the padding of short answers is included."
online = partial(reported, producer="trainer", needs=("the online trainer's own log",))

online(
    "preference/online/kl",
    meaning="Distance to the reference in online preference training.",
    definition=f"mean over answers of Σ over tokens of log p - log p_ref. {UNMASKED}",
    read="Should stay small and positive. Read its trend, not its level.",
    check="beta; length of the answers",
    unit="nats",
    good="steady",
    example="3.1",
    names=(trl("loss/kl", trainer="nash_md", versions="<1.14"),),
)
online(
    "preference/online/non_score_reward",
    meaning="The KL part of the reward in online preference training.",
    definition=f"mean over answers of -beta * Σ (log p - log p_ref). {UNMASKED}",
    read="Compare with the scores to see how much the penalty takes away.",
    check="beta",
    unit="reward",
    good="context",
    example="-0.3",
    names=(trl("objective/non_score_reward", trainer="online_dpo", same=False, note=UNMASKED),),
)
online(
    "preference/online/rlhf_reward",
    meaning="Score minus the KL penalty, in online preference training.",
    definition=f"mean over answers of score + non-score reward. {UNMASKED}",
    read="This is the quantity that training maximises.",
    check="preference/online/score; preference/online/kl",
    unit="reward",
    good="up",
    example="0.9",
    names=(trl("objective/rlhf_reward", trainer="online_dpo", same=False, note=UNMASKED),),
)
online(
    "preference/online/score",
    meaning="Score of the model's answers in online preference training.",
    definition="mean over answers of the score from the judge or the reward model.",
    read="Shows the trend of quality as the judge sees it.",
    check="evaluation by another judge",
    unit="score",
    good="up",
    example="1.2",
    names=(
        trl("objective/scores", trainer="online_dpo", same=False, note="mean over both answers of a prompt"),
        trl("objective/model_scores", trainer="xpo", versions="<1.14"),
        trl(
            "loss/score",
            trainer="nash_md",
            versions="<1.14",
            same=False,
            note="a loss of preference probabilities, not a score",
        ),
        trl(
            "rewards/chosen",
            trainer="nash_md",
            versions="<1.14",
            same=False,
            note="the reward model's score of the model's answers",
        ),
    ),
)
online(
    "preference/online/ref_score",
    meaning="Score of the other policy's answers.",
    definition="mean over the answers of the reference (XPO) or the mixture (Nash-MD).",
    read="The model has to beat this score.",
    check="preference/online/score_margin",
    unit="score",
    good="context",
    example="1.0",
    names=(
        trl("objective/ref_scores", trainer="xpo", versions="<1.14"),
        trl(
            "rewards/rejected",
            trainer="nash_md",
            versions="<1.14",
            same=False,
            note="the reward model's score of the mixture's answers",
        ),
    ),
)
online(
    "preference/online/score_margin",
    meaning="Difference in score between the two answers that are compared.",
    definition=(
        "mean over prompts of the better answer's score minus the other's (Online DPO), or model minus reference (XPO)."
    ),
    read="A difference near zero gives nothing to learn from.",
    check="temperature; spread of the scores within a group",
    unit="score",
    good="up",
    example="0.2",
    names=(
        trl("objective/scores_margin", trainer="online_dpo"),
        trl("objective/scores_margin", trainer="xpo", same=False, versions="<1.14", note="model minus reference"),
    ),
)
online(
    "preference/online/win_probability",
    meaning="Probability that the model's answer beats the mixture's.",
    definition="mean over prompts of sigmoid(score of the model's answer - score of the mixture's).",
    read="0.5 is a draw. Nash-MD aims to raise it.",
    check="mixture coefficient; the judge",
    unit="share",
    good="up",
    example="0.56",
    names=(trl("rewards/probabilities", trainer="nash_md", versions="<1.14"),),
)
online(
    "preference/online/exploration_loss",
    meaning="XPO's bonus for moving away from the reference.",
    definition="alpha * mean over answers of log p on the reference's answers.",
    read="Alpha reduces this term over time.",
    check="alpha",
    unit="nats",
    good="context",
    example="-0.02",
    names=(trl("loss/xpo", trainer="xpo", versions="<1.14"),),
)
online(
    "preference/online/finished",
    meaning="Share of answers that ended by themselves in online preference training.",
    definition="share of the model's answers that contain an end-of-sequence token, on one rank.",
    read="Low means that answers are cut. length/truncated covers all ranks.",
    check="token limit",
    unit="share",
    good="up",
    example="0.9",
    names=(
        trl("val/contain_eos_token", trainer="online_dpo", same=False, note="one rank only"),
        trl("val/model_contain_eos_token", trainer="nash_md,xpo", versions="<1.14", same=False, note="one rank only"),
        trl(
            "val/ref_contain_eos_token",
            trainer="nash_md,xpo",
            versions="<1.14",
            same=False,
            note="of the reference's or the mixture's answers",
        ),
    ),
)
online(
    "preference/beta",
    meaning="How strongly a preference loss ties the policy to the reference.",
    definition="the coefficient beta in use; some trainers schedule it.",
    read="A larger beta keeps the policy closer to the reference.",
    check="preference/margin",
    unit="1/nats",
    good="context",
    example="0.1",
    kind="last",
    names=(trl("beta", trainer="online_dpo,nash_md,xpo"),),
)
online(
    "preference/online/mixture_coef",
    meaning="Weight of the reference in Nash-MD's opponent.",
    definition="the coefficient in use.",
    read="0 is self-play; 1 is the reference.",
    check="preference/online/win_probability",
    unit="share",
    good="context",
    example="0.5",
    kind="last",
    names=(trl("mixture_coef", trainer="nash_md", versions="<1.14"),),
)
online(
    "preference/online/alpha",
    meaning="Weight of XPO's exploration bonus.",
    definition="the coefficient in use.",
    read="Usually falls over training.",
    check="preference/online/exploration_loss",
    unit="weight",
    good="context",
    example="1e-5",
    kind="last",
    names=(trl("alpha", trainer="xpo", versions="<1.14"),),
)
online(
    "preference/a2po/optimal_value",
    meaning="A2PO's estimate of the best value that a prompt can reach.",
    definition=(
        "beta * log of the mean of exp(reward / beta) over the reference's samples of a prompt; "
        "mean over this rank's prompts."
    ),
    read="Depends only on the data: it shows how good the reference's best answers are.",
    check="number of reference samples; beta",
    unit="reward",
    good="context",
    example="0.7",
    names=(trl("v_star", trainer="a2po"),),
)
online(
    "preference/a2po/implicit_reward",
    meaning="A2PO's implicit reward.",
    definition="beta * (log p - log p_ref), mean over this rank's answers.",
    read="Approaches reward minus preference/a2po/optimal_value when training works.",
    check="preference/a2po/optimal_value",
    unit="nats",
    good="up",
    example="0.1",
    names=(trl("implicit_reward", trainer="a2po"),),
)
