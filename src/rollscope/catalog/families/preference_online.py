"""Online preference learning (Online DPO, Nash-MD, XPO) and A2PO: what TRL's trainers log, with what is wrong about it."""

from __future__ import annotations

from rollscope.catalog.reported import reported, trl
from rollscope.catalog.spec import Good, Name

UNMASKED = "Padding is not masked in TRL (issue 6809), so short answers are wrong by their padding."
ROWS: tuple[tuple[str, str, Good, str, str, str, str, str, tuple[Name, ...]], ...] = (
    ("preference/online/kl", "nats", "steady", "Distance to the reference in online preference training.", f"mean over answers of Σ over tokens of log p - log p_ref. {UNMASKED}", "Should stay small and positive; read its trend, not its level.", "beta; length of the answers", "3.1", (trl("loss/kl", trainer="nash_md", versions="<1.14"),)),
    ("preference/online/non_score_reward", "reward", "context", "The KL part of the reward in online preference training.", f"mean over answers of -beta * Σ (log p - log p_ref). {UNMASKED}", "Against the scores: how much the penalty takes away.", "beta", "-0.3", (trl("objective/non_score_reward", trainer="online_dpo", same=False, note=UNMASKED),)),
    ("preference/online/rlhf_reward", "reward", "up", "Score with the KL penalty taken off, in online preference training.", f"mean over answers of score + non-score reward. {UNMASKED}", "What is optimised in the end.", "preference/online/score; preference/online/kl", "0.9", (trl("objective/rlhf_reward", trainer="online_dpo", same=False, note=UNMASKED),)),
    ("preference/online/score", "score", "up", "Score of the model's answers in online preference training.", "mean over answers of the judge's or reward model's score.", "The trend of quality as the judge sees it.", "evaluation by another judge", "1.2", (trl("objective/scores", trainer="online_dpo", same=False, note="mean over both answers of a prompt"), trl("objective/model_scores", trainer="xpo", versions="<1.14"), trl("loss/score", trainer="nash_md", versions="<1.14", same=False, note="a loss of preference probabilities, not a score"), trl("rewards/chosen", trainer="nash_md", versions="<1.14", same=False, note="the reward model's score of the model's answers"))),
    ("preference/online/ref_score", "score", "context", "Score of the other policy's answers.", "mean over answers of the reference (XPO) or the mixture (Nash-MD).", "The line the model has to beat.", "preference/online/score_margin", "1.0", (trl("objective/ref_scores", trainer="xpo", versions="<1.14"), trl("rewards/rejected", trainer="nash_md", versions="<1.14", same=False, note="the reward model's score of the mixture's answers"))),
    ("preference/online/score_margin", "score", "up", "Score gap between the two answers that are compared.", "mean over prompts of the better answer's score minus the other's (Online DPO), or model minus reference (XPO).", "A gap near zero gives nothing to learn from.", "temperature; group spread of scores", "0.2", (trl("objective/scores_margin", trainer="online_dpo"), trl("objective/scores_margin", trainer="xpo", same=False, versions="<1.14", note="model minus reference"))),
    ("preference/online/win_probability", "share", "up", "How likely the model's answer beats the mixture's.", "mean over prompts of sigmoid(score of the model's answer - score of the mixture's).", "0.5 is a draw. Rising is what Nash-MD is for.", "mixture coefficient; the judge", "0.56", (trl("rewards/probabilities", trainer="nash_md", versions="<1.14"),)),
    ("preference/online/exploration_loss", "nats", "context", "XPO's bonus for leaving the reference.", "alpha * mean over answers of log p on the reference's answers.", "A term that alpha fades out.", "alpha", "-0.02", (trl("loss/xpo", trainer="xpo", versions="<1.14"),)),
    ("preference/online/finished", "share", "up", "Answers that came to an end in online preference training.", "share of the model's answers that hold an end-of-sequence token, on one rank.", "Low means cut answers. length/truncated counts all ranks.", "token limit", "0.9", (trl("val/contain_eos_token", trainer="online_dpo", same=False, note="one rank only"), trl("val/model_contain_eos_token", trainer="nash_md,xpo", versions="<1.14", same=False, note="one rank only"), trl("val/ref_contain_eos_token", trainer="nash_md,xpo", versions="<1.14", same=False, note="of the reference's or the mixture's answers"))),
    ("preference/beta", "1/nats", "context", "Strength of the tie to the reference in a preference loss.", "the coefficient beta in use; some trainers schedule it.", "Larger keeps the policy nearer to the reference.", "preference/margin", "0.1", (trl("beta", trainer="online_dpo,nash_md,xpo"),)),
    ("preference/online/mixture_coef", "share", "context", "Weight of the reference in Nash-MD's opponent.", "the coefficient in use.", "0 is self-play, 1 is the reference.", "preference/online/win_probability", "0.5", (trl("mixture_coef", trainer="nash_md", versions="<1.14"),)),
    ("preference/online/alpha", "weight", "context", "Weight of XPO's exploration bonus.", "the coefficient in use.", "Usually falls over training.", "preference/online/exploration_loss", "1e-5", (trl("alpha", trainer="xpo", versions="<1.14"),)),
    ("preference/a2po/optimal_value", "reward", "context", "A2PO's estimate of the best value of a prompt.", "beta * log of the mean of exp(reward / beta) over the reference's samples of a prompt; mean over this rank's prompts.", "A constant of the data: how good the reference's best answers are.", "number of reference samples; beta", "0.7", (trl("v_star", trainer="a2po"),)),
    ("preference/a2po/implicit_reward", "nats", "up", "A2PO's implicit reward.", "beta * (log p - log p_ref), mean over this rank's answers.", "Fits reward minus optimal value when training works.", "preference/a2po/optimal_value", "0.1", (trl("implicit_reward", trainer="a2po"),)),
)  # fmt: skip

for _name, _unit, _good, _meaning, _definition, _read, _check, _example, _names in ROWS:
    reported(
        _name,
        _unit,
        _good,
        _meaning,
        _definition,
        _read,
        _check,
        _example,
        *_names,
        kind="last" if "coefficient" in _definition else "mean",
        producer="trainer",
        needs=("the online trainer's own log",),
    )
