"""Distillation: learning from a teacher's distribution, on own or given samples."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.reported import reported, rlinf, trl, verl
from rollscope.catalog.spec import Name

distilled = partial(reported, producer="trainer", needs=("the teacher's distribution",))
of_itself = partial(trl, trainer="sdpo,sdft")


def both(key: str, **more: Any) -> tuple[Name, ...]:
    """A key as veRL's trainer logs it, with `actor/`, and as its loss function returns it."""
    bare = more | {"same": False, "note": "as the loss function returns it, without the trainer's prefix"}
    return (
        verl(f"actor/distillation/{key}", versions=">=0.9", **more),
        verl(f"distillation/{key}", versions=">=0.9", **bare),
    )


EXTREMES = ("mean", "min", "max")
distilled(
    "distillation/loss",
    meaning="Distance between student and teacher.",
    definition=(
        "mean over response tokens of the configured divergence (forward or reverse KL, or "
        "Jensen-Shannon). If only the teacher's top tokens are known, over those."
    ),
    read="Should fall. Values of different divergences cannot be compared.",
    check="which divergence and how many top tokens; temperature",
    unit="nats/token",
    good="down",
    example="0.21",
    kind="distribution",
    stats=EXTREMES,
    names=(
        verl("actor/distillation/loss", versions=">=0.9", stat="mean"),
        verl("distillation/loss", versions=">=0.9", stat="mean", same=False, note="without the trainer's prefix"),
        verl("actor/distillation/loss_{min,max}", versions=">=0.9"),
        verl("distillation/loss_{min,max}", versions=">=0.9", same=False, note="without the trainer's prefix"),
        of_itself("self_distillation/distillation_loss", stat="mean"),
        of_itself("{name}/distillation_loss", stat="mean", same=False, note="the loss of one named term"),
    ),
)
distilled(
    "distillation/abs_loss",
    meaning="Absolute size of the distillation loss.",
    definition=(
        "mean over response tokens of the loss's absolute value; estimates from a sampled token can be negative."
    ),
    read="Compare with distillation/loss: far apart means that errors of both signs cancel.",
    check="distillation/loss",
    unit="nats/token",
    good="down",
    example="0.3",
    names=both("abs_loss"),
)
distilled(
    "distillation/student_mass",
    meaning="Probability that the student gives to the compared tokens.",
    definition="mean over response tokens of Σ p over the teacher's top tokens.",
    read="Near 1, the comparison covers nearly everything.",
    check="number of top tokens",
    unit="share",
    good="up",
    example="0.97",
    kind="distribution",
    stats=EXTREMES,
    names=(
        verl("actor/distillation/student_mass", versions=">=0.9", stat="mean"),
        verl("actor/distillation/student_mass_{min,max}", versions=">=0.9"),
        verl(
            "distillation/student_mass", versions=">=0.9", stat="mean", same=False, note="without the trainer's prefix"
        ),
        verl("distillation/student_mass_{min,max}", versions=">=0.9", same=False, note="without the trainer's prefix"),
    ),
)
distilled(
    "distillation/teacher_mass",
    meaning="Probability that the teacher gives to the compared tokens.",
    definition="mean over response tokens of Σ p of the teacher over its top tokens.",
    read="Low means that the part of the distribution that was cut off matters.",
    check="number of top tokens; teacher's temperature",
    unit="share",
    good="up",
    example="0.98",
    kind="distribution",
    stats=EXTREMES,
    names=(
        verl("actor/distillation/teacher_mass", versions=">=0.9", stat="mean"),
        verl("actor/distillation/teacher_mass_{min,max}", versions=">=0.9"),
        verl(
            "distillation/teacher_mass", versions=">=0.9", stat="mean", same=False, note="without the trainer's prefix"
        ),
        verl("distillation/teacher_mass_{min,max}", versions=">=0.9", same=False, note="without the trainer's prefix"),
    ),
)
distilled(
    "distillation/overlap",
    meaning="Share of top tokens that student and teacher have in common.",
    definition="mean over response tokens of |top k of both| / k.",
    read="Rises as the student learns from the teacher.",
    check="distillation/loss",
    unit="share",
    good="up",
    example="0.7",
    names=both("overlap_ratio"),
)
distilled(
    "distillation/overlap_advantage",
    meaning="How much more probability the teacher gives to the shared tokens.",
    definition="mean over shared top tokens of log p(teacher) - log p(student).",
    read="Moves towards 0 as the student learns from the teacher.",
    check="distillation/overlap",
    unit="nats",
    good="context",
    example="0.1",
    names=both("overlap_token_advantage"),
)
distilled(
    "distillation/policy_loss",
    meaning="The RL part of the loss when self-distillation is added to it.",
    definition="policy loss of the step before the distillation term is added.",
    read="Read it together with distillation/loss.",
    check="weights of the two terms",
    unit="loss",
    good="context",
    example="0.01",
    names=(of_itself("self_distillation/policy_loss"),),
)
distilled(
    "distillation/server_logp_difference",
    meaning="Mismatch between the teacher's server and its trainer copy.",
    definition="mean over tokens of |log p(server) - log p(trainer)|.",
    read="Should be as small as the mismatch between engine and trainer.",
    check="precision; top-p or temperature on the server",
    unit="nats",
    good="down",
    example="0.01",
    names=(of_itself("self_distillation/server_logprob_abs_diff"),),
)
distilled(
    "distillation/feedback_available",
    meaning="Share of samples that have feedback to learn from.",
    definition="samples with feedback / samples.",
    read="Without feedback, self-distillation has no signal.",
    check="environment's feedback",
    unit="share",
    good="up",
    example="0.8",
    range=(0.0, 1.0),
    names=(of_itself("self_distillation/feedback_available_fraction"),),
)
distilled(
    "distillation/feedback_used",
    meaning="Share of samples whose feedback was used.",
    definition="samples whose teacher prompt contained the feedback / samples.",
    read="If it is below distillation/feedback_available, some rule leaves feedback out.",
    check="settings of the feedback prompt",
    unit="share",
    good="context",
    example="0.6",
    range=(0.0, 1.0),
    names=(of_itself("self_distillation/feedback_used_fraction"),),
)
distilled(
    "distillation/reprompted",
    meaning="Share of samples that were given a second prompt.",
    definition="samples whose teacher saw a better prompt / samples.",
    read="0 means that distillation is not active.",
    check="successful samples in the group",
    unit="share",
    good="context",
    example="0.5",
    range=(0.0, 1.0),
    names=(of_itself("self_distillation/reprompt_sample_fraction"),),
)
distilled(
    "distillation/on_policy_loss",
    meaning="Distillation loss on the student's own samples.",
    definition="mean over the student's tokens of the configured divergence.",
    read="This part repairs the student's own mistakes.",
    check="share of on-policy samples",
    unit="loss",
    good="down",
    example="0.4",
    names=(trl("on_policy_loss", trainer="gold,iw_opd"),),
)
distilled(
    "distillation/off_policy_loss",
    meaning="Distillation loss on samples that the student did not write.",
    definition="mean over their tokens of the configured divergence.",
    read="Falls first. Low here and high on-policy is exposure bias.",
    check="share of off-policy samples",
    unit="loss",
    good="down",
    example="0.3",
    names=(trl("off_policy_loss", trainer="gold,iw_opd"),),
)
distilled(
    "distillation/matched_loss",
    meaning="Loss on tokens that exist in both vocabularies.",
    definition="mean over tokens with a counterpart in the teacher's vocabulary.",
    read="This is the exact part of distillation across tokenizers.",
    check="share of matched tokens",
    unit="loss",
    good="down",
    example="0.3",
    names=(trl("matched_loss", trainer="gold"),),
)
distilled(
    "distillation/unmatched_loss",
    meaning="Loss on tokens that exist in only one vocabulary.",
    definition="mean over tokens that are compared through sorted probabilities.",
    read="A rough signal; it should not dominate.",
    check="tokenizers",
    unit="loss",
    good="down",
    example="0.6",
    names=(trl("unmatched_loss", trainer="gold"),),
)
distilled(
    "distillation/advantage",
    meaning="Mean advantage the teacher gives a token.",
    definition="mean over tokens of log p(teacher) - log p(student).",
    read="Negative while the student's samples surprise the teacher. It moves towards 0.",
    check="distillation/abs_advantage",
    unit="nats",
    good="context",
    example="-0.2",
    names=(trl("iw_opd/mean_advantage", trainer="iw_opd"),),
)
distilled(
    "distillation/abs_advantage",
    meaning="Absolute size of the teacher's advantage.",
    definition="mean over tokens of the advantage's absolute value.",
    read="Falls as the student learns from the teacher.",
    check="distillation/advantage",
    unit="nats",
    good="down",
    example="0.4",
    names=(trl("iw_opd/mean_abs_advantage", trainer="iw_opd"),),
)
distilled(
    "distillation/importance_weight",
    meaning="Importance weights of off-policy tokens.",
    definition="statistics over tokens of p(student) / p(behaviour), clipped as configured.",
    read="Should be near 1. A large maximum comes from a stale sample.",
    check="staleness/mean",
    unit="ratio",
    good="near one",
    example="mean 1.0",
    kind="distribution",
    stats=EXTREMES,
    names=(trl("iw_opd/{mean,min,max}_weight", trainer="iw_opd"),),
)
distilled(
    "distillation/length/{which}",
    meaning="Length of on-policy or off-policy completions.",
    definition="statistics over the completions of that kind.",
    read="On-policy lengths show how long the student's answers have become.",
    check="length/completion/mean",
    unit="tokens",
    good="context",
    example="mean 300",
    kind="distribution",
    stats=EXTREMES,
    names=(trl("completions/{which}_policy_{mean,min,max}_length", trainer="iw_opd"),),
)
distilled(
    "distillation/jsd",
    meaning="Jensen-Shannon divergence between student and teacher.",
    definition="mean over tokens; at most log 2.",
    read="Should fall towards 0.",
    check="distillation/teacher_entropy",
    unit="nats/token",
    good="down",
    example="0.05",
    range=(0.0, 0.6932),
    names=(trl("jsd", trainer="async_distillation"),),
)
distilled(
    "distillation/jsd/{teacher}",
    meaning="Jensen-Shannon divergence to one teacher.",
    definition="mean over the tokens that teacher is responsible for.",
    read="Compare the teachers with each other.",
    check="distillation/teacher_share/{teacher}",
    unit="nats/token",
    good="down",
    example="0.06",
    names=(trl("teacher_jsd/{teacher}", trainer="async_distillation"),),
)
distilled(
    "distillation/teacher_entropy",
    meaning="How uncertain the teacher is.",
    definition="mean over tokens of the teacher's entropy.",
    read="Constant as long as the prompts stay the same.",
    check="policy/entropy",
    unit="nats/token",
    good="context",
    example="0.9",
    names=(trl("teacher_entropy", trainer="async_distillation"),),
)
distilled(
    "distillation/teacher_entropy/{teacher}",
    meaning="How uncertain one teacher is.",
    definition="mean over this teacher's tokens of its entropy.",
    read="An uncertain teacher teaches little.",
    check="distillation/teacher_entropy",
    unit="nats/token",
    good="context",
    example="0.8",
    names=(trl("teacher_entropy/{teacher}", trainer="async_distillation"),),
)
distilled(
    "distillation/teacher_share/{teacher}",
    meaning="Share of tokens one teacher is responsible for.",
    definition="this teacher's tokens / all tokens of the step.",
    read="Matches the configuration, unless routing drifts.",
    check="routing of prompts to teachers",
    unit="share",
    good="context",
    example="0.5",
    range=(0.0, 1.0),
    names=(trl("teacher_token_frac/{teacher}", trainer="async_distillation"),),
)
distilled(
    "distillation/ssd/active",
    meaning="Share of samples that take part in self-speculative distillation.",
    definition="samples with an accepted target / samples.",
    read="0 means that it has no effect.",
    check="acceptance rule",
    unit="share",
    good="context",
    example="0.7",
    range=(0.0, 1.0),
    names=(trl("ssd/active_sample_ratio", trainer="ssd", versions="<1.16"),),
)
distilled(
    "distillation/ssd/loss",
    meaning="Cross-entropy of self-speculative distillation.",
    definition="mean over tokens of active samples.",
    read="Should fall.",
    check="distillation/ssd/active",
    unit="nats/token",
    good="down",
    example="1.1",
    names=(trl("ssd/cross_entropy_loss", trainer="ssd", versions="<1.16"),),
)
distilled(
    "distillation/opd_reward",
    meaning="Reward of an on-policy distillation step.",
    definition="mean over action tokens of log p(teacher) - log p(student), RLinf's reward.",
    read="Moves towards 0 from below.",
    check="distillation/opd_reverse_kl",
    unit="nats",
    good="up",
    example="-0.3",
    names=(rlinf("train/actor/opd_reward"),),
)
distilled(
    "distillation/opd_reverse_kl",
    meaning="Reverse KL to the teacher on the student's samples.",
    definition="mean over action tokens of log p(student) - log p(teacher).",
    read="The negative of distillation/opd_reward.",
    check="distillation/opd_reward",
    unit="nats",
    good="down",
    example="0.3",
    names=(rlinf("train/actor/opd_reverse_kl"),),
)
