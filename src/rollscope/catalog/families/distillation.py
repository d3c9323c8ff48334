"""Distillation: learning from a teacher's distribution, on the student's own samples or on given ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.reported import reported, rlinf, trl, verl
from rollscope.catalog.spec import Good, Name

Row = tuple[str, str, Good, str, str, str, str, str, tuple[Name, ...], dict[str, Any]]
of_itself = partial(trl, trainer="sdpo,sdft")


def both(key: str, **more: Any) -> tuple[Name, ...]:
    """veRL's losses return the key bare, its trainer logs it with actor/ before."""
    return verl(f"actor/distillation/{key}", versions=">=0.9", **more), verl(
        f"distillation/{key}",
        versions=">=0.9",
        **more | {"same": False, "note": "as the loss function returns it, before the trainer's prefix"},
    )


RANGED = {"kind": "distribution", "stats": ("mean", "min", "max")}
ROWS: tuple[Row, ...] = (
    ("distillation/loss", "nats/token", "down", "Distance between student and teacher.", "mean over response tokens of the distillation divergence in use (forward or reverse KL, or Jensen-Shannon), over the teacher's top tokens where only those are known.", "Falls. It is not comparable between divergences.", "which divergence and how many top tokens; temperature", "0.21", (verl("actor/distillation/loss", versions=">=0.9", stat="mean"), verl("distillation/loss", versions=">=0.9", stat="mean", same=False, note="before the trainer's prefix"), verl("actor/distillation/loss_{min,max}", versions=">=0.9"), verl("distillation/loss_{min,max}", versions=">=0.9", same=False, note="before the trainer's prefix"), of_itself("self_distillation/distillation_loss", stat="mean"), of_itself("{name}/distillation_loss", stat="mean", same=False, note="of one named loss")), RANGED),
    ("distillation/abs_loss", "nats/token", "down", "Size of the distillation loss, whatever its sign.", "mean over response tokens of its absolute value; estimates from a sampled token can be negative.", "Against distillation/loss: far apart means that errors of both signs cancel.", "distillation/loss", "0.3", both("abs_loss"), {}),
    ("distillation/student_mass", "share", "up", "Probability the student gives to the tokens that are compared.", "mean over response tokens of Σ p over the teacher's top tokens.", "Near 1 the comparison covers nearly everything.", "number of top tokens", "0.97", (verl("actor/distillation/student_mass", versions=">=0.9", stat="mean"), verl("actor/distillation/student_mass_{min,max}", versions=">=0.9"), verl("distillation/student_mass", versions=">=0.9", stat="mean", same=False, note="before the trainer's prefix"), verl("distillation/student_mass_{min,max}", versions=">=0.9", same=False, note="before the trainer's prefix")), RANGED),
    ("distillation/teacher_mass", "share", "up", "Probability the teacher gives to the tokens that are compared.", "mean over response tokens of Σ p of the teacher over its top tokens.", "Low means that the tail which was cut off matters.", "number of top tokens; teacher's temperature", "0.98", (verl("actor/distillation/teacher_mass", versions=">=0.9", stat="mean"), verl("actor/distillation/teacher_mass_{min,max}", versions=">=0.9"), verl("distillation/teacher_mass", versions=">=0.9", stat="mean", same=False, note="before the trainer's prefix"), verl("distillation/teacher_mass_{min,max}", versions=">=0.9", same=False, note="before the trainer's prefix")), RANGED),
    ("distillation/overlap", "share", "up", "Top tokens that student and teacher share.", "mean over response tokens of |top k of both| / k.", "Rises as the student follows.", "distillation/loss", "0.7", both("overlap_ratio"), {}),
    ("distillation/overlap_advantage", "nats", "context", "How much more the teacher likes the shared tokens.", "mean over shared top tokens of log p(teacher) - log p(student).", "Towards 0 as the student follows.", "distillation/overlap", "0.1", both("overlap_token_advantage"), {}),
    ("distillation/policy_loss", "loss", "context", "The RL part beside self-distillation.", "policy loss of the step before the distillation term is added.", "Read it with distillation/loss.", "weight of the two terms", "0.01", (of_itself("self_distillation/policy_loss"),), {}),
    ("distillation/server_logp_difference", "nats", "down", "Mismatch between the teacher's server and its trainer copy.", "mean over tokens of |log p(server) - log p(trainer)|.", "Should be as small as between engine and trainer.", "precision; top-p or temperature on the server", "0.01", (of_itself("self_distillation/server_logprob_abs_diff"),), {}),
    ("distillation/feedback_available", "share", "up", "Samples for which there is feedback to learn from.", "samples with feedback / samples.", "Without feedback self-distillation has nothing to say.", "environment's feedback", "0.8", (of_itself("self_distillation/feedback_available_fraction"),), {"range": (0.0, 1.0)}),
    ("distillation/feedback_used", "share", "context", "Samples whose feedback was used.", "samples whose teacher prompt held the feedback / samples.", "Below available: rules that leave it out.", "settings of the feedback prompt", "0.6", (of_itself("self_distillation/feedback_used_fraction"),), {"range": (0.0, 1.0)}),
    ("distillation/reprompted", "share", "context", "Samples that were given a second prompt.", "samples whose teacher saw a better prompt / samples.", "0 means that distillation is not active.", "successful samples in the group", "0.5", (of_itself("self_distillation/reprompt_sample_fraction"),), {"range": (0.0, 1.0)}),
    ("distillation/on_policy_loss", "loss", "down", "Distillation loss on the student's own samples.", "mean over its tokens of the divergence in use.", "The part that repairs the student's own mistakes.", "share of on-policy samples", "0.4", (trl("on_policy_loss", trainer="gold,iw_opd"),), {}),
    ("distillation/off_policy_loss", "loss", "down", "Distillation loss on given samples.", "mean over their tokens of the divergence in use.", "Falls first; low here and high on-policy is exposure bias.", "share of off-policy samples", "0.3", (trl("off_policy_loss", trainer="gold,iw_opd"),), {}),
    ("distillation/matched_loss", "loss", "down", "Loss on tokens that both vocabularies know.", "mean over tokens with a counterpart in the teacher's vocabulary.", "The exact part of distillation across tokenizers.", "share of matched tokens", "0.3", (trl("matched_loss", trainer="gold"),), {}),
    ("distillation/unmatched_loss", "loss", "down", "Loss on tokens only one vocabulary knows.", "mean over tokens compared through sorted probabilities.", "A rough signal; it should not dominate.", "tokenizers", "0.6", (trl("unmatched_loss", trainer="gold"),), {}),
    ("distillation/advantage", "nats", "context", "Mean advantage the teacher gives a token.", "mean over tokens of log p(teacher) - log p(student).", "Negative while the student's samples surprise the teacher; towards 0.", "distillation/abs_advantage", "-0.2", (trl("iw_opd/mean_advantage", trainer="iw_opd"),), {}),
    ("distillation/abs_advantage", "nats", "down", "Size of the teacher's advantage.", "mean over tokens of its absolute value.", "Falls as the student follows.", "distillation/advantage", "0.4", (trl("iw_opd/mean_abs_advantage", trainer="iw_opd"),), {}),
    ("distillation/importance_weight", "ratio", "near one", "Importance weights of off-policy tokens.", "statistics over tokens of p(student) / p(behaviour), clipped as configured.", "Near 1; a large maximum is a stale sample.", "staleness/mean", "mean 1.0", (trl("iw_opd/{mean,min,max}_weight", trainer="iw_opd"),), RANGED),
    ("distillation/length/{which}", "tokens", "context", "Length of on-policy or off-policy completions.", "statistics over the completions of that kind.", "On-policy lengths show what the student has become.", "length/completion/mean", "mean 300", (trl("completions/{which}_policy_{mean,min,max}_length", trainer="iw_opd"),), RANGED),
    ("distillation/jsd", "nats/token", "down", "Jensen-Shannon divergence between student and teacher.", "mean over tokens; at most log 2.", "Falls towards 0.", "distillation/teacher_entropy", "0.05", (trl("jsd", trainer="async_distillation"),), {"range": (0.0, 0.6932)}),
    ("distillation/jsd/{teacher}", "nats/token", "down", "Jensen-Shannon divergence to one teacher.", "mean over the tokens that teacher is responsible for.", "Compare teachers.", "distillation/teacher_share/{teacher}", "0.06", (trl("teacher_jsd/{teacher}", trainer="async_distillation"),), {}),
    ("distillation/teacher_entropy", "nats/token", "context", "How sure the teacher is.", "mean over tokens of the teacher's entropy.", "A constant of the data as long as prompts stay the same.", "policy/entropy", "0.9", (trl("teacher_entropy", trainer="async_distillation"),), {}),
    ("distillation/teacher_entropy/{teacher}", "nats/token", "context", "How sure one teacher is.", "mean over its tokens of its entropy.", "A teacher that is unsure teaches little.", "distillation/teacher_entropy", "0.8", (trl("teacher_entropy/{teacher}", trainer="async_distillation"),), {}),
    ("distillation/teacher_share/{teacher}", "share", "context", "Share of tokens one teacher is responsible for.", "its tokens / all tokens of the step.", "As configured, unless routing drifts.", "routing of prompts to teachers", "0.5", (trl("teacher_token_frac/{teacher}", trainer="async_distillation"),), {"range": (0.0, 1.0)}),
    ("distillation/ssd/active", "share", "context", "Samples that take part in self-speculative distillation.", "samples with an accepted target / samples.", "0 means that it does nothing.", "acceptance rule", "0.7", (trl("ssd/active_sample_ratio", trainer="ssd", versions="<1.16"),), {"range": (0.0, 1.0)}),
    ("distillation/ssd/loss", "nats/token", "down", "Cross-entropy of self-speculative distillation.", "mean over tokens of active samples.", "Falls.", "distillation/ssd/active", "1.1", (trl("ssd/cross_entropy_loss", trainer="ssd", versions="<1.16"),), {}),
    ("distillation/opd_reward", "nats", "up", "Reward an on-policy distillation step gives.", "mean over action tokens of log p(teacher) - log p(student), RLinf's reward.", "Towards 0 from below.", "distillation/opd_reverse_kl", "-0.3", (rlinf("train/actor/opd_reward"),), {}),
    ("distillation/opd_reverse_kl", "nats", "down", "Reverse KL to the teacher on the student's samples.", "mean over action tokens of log p(student) - log p(teacher).", "The negative of the reward.", "distillation/opd_reward", "0.3", (rlinf("train/actor/opd_reverse_kl"),), {}),
)  # fmt: skip

for _name, _unit, _good, _meaning, _definition, _read, _check, _example, _names, _more in ROWS:
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
        producer="trainer",
        needs=("the teacher's distribution",),
        **_more,
    )
