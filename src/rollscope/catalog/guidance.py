"""What to watch in each scenario, and what to check for each symptom.

`SCENARIOS` lists metrics in the order to look at them, each with a reason. `SYMPTOMS` leads from
what a person sees to a first check and then to further ones. Names are ours; `vital` marks the six
that the Overview shows first.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollscope.errors import NotFound, nearest


@dataclass(frozen=True, slots=True)
class Watch:
    metric: str
    why: str
    concern: str  # effectiveness, stability, efficiency or data
    vital: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    algorithms: tuple[str, ...]  # values of a run's `algorithm` that belong here
    watch: tuple[Watch, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Symptom:
    name: str
    sees: str
    first: tuple[tuple[str, str], ...]  # (metric, the question to ask of it)
    then: tuple[tuple[str, str], ...]
    means: str


_POLICY = (
    Watch(
        "eval/{set}/{score}/mean@{k}",
        "The only number that says whether the model got better on tasks it does not train on.",
        "effectiveness",
        vital=True,
    ),
    Watch(
        "reward/generated/mean",
        "The trend of what the policy earns, over every sample it wrote and not only over those kept for the update.",
        "effectiveness",
        vital=True,
    ),
    Watch(
        "reward/trained/mean",
        "Beside the generated one: the gap is what dropping groups without spread does to the curve.",
        "effectiveness",
    ),
    Watch(
        "policy/entropy",
        "Exploration left. Compare with this run's own opening, not with another model's number.",
        "stability",
        vital=True,
    ),
    Watch(
        "policy/kl_ref_k3",
        "How far the policy is from where it started; rising while reward falls means it drifts away.",
        "stability",
        vital=True,
    ),
    Watch(
        "policy/kl_update_k1",
        "How far one update moved the policy; a jump often comes a few steps before reward collapses.",
        "stability",
    ),
    Watch(
        "policy/clip/region",
        "How many tokens hit the trust region; high for long means steps that "
        "are too large or batches that are too small.",
        "stability",
    ),
    Watch("policy/ratio/mean", "Should stay near 1; 2, 1000 or 0.1 are updates that went too far.", "stability"),
    Watch(
        "optimiser/grad_norm",
        "Ten times its usual size is an explosion, a bad batch or a numerical fault.",
        "stability",
    ),
    Watch(
        "policy/loss_total",
        "Read it for jumps, not for a trend: a surrogate of normalised advantages has no reason to fall.",
        "stability",
    ),
    Watch(
        "length/completion/generated/mean",
        "Length explains cost, truncation and much reward hacking.",
        "data",
        vital=True,
    ),
    Watch("length/truncated/generated", "Cut answers earn nothing and teach the wrong thing.", "data"),
    Watch(
        "group/zero_spread",
        "Groups in which every answer earned the same teach nothing; compare with the expected share.",
        "data",
    ),
    Watch("balance/after/spread", "Ranks with little work wait for those with much.", "data"),
    Watch("perf/throughput", "Tokens per second and GPU, the price of everything above.", "efficiency", vital=True),
    Watch("time/generate", "Usually the largest part of a step, so the first place to win time.", "efficiency"),
)

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "grpo",
        "GRPO and its kin (RLOO, Dr. GRPO, REINFORCE++, GSPO, DAPO)",
        ("grpo", "rloo", "async_grpo", "dr_grpo", "reinforce++", "gspo", "dapo", "cispo", "reinforce"),
        _POLICY,
        "training metrics glossary, section 12; TRL logging guide, crucial GRPO values",
    ),
    Scenario(
        "ppo",
        "PPO with a critic",
        ("ppo",),
        (
            *_POLICY[:6],
            Watch(
                "critic/loss",
                "Spikes or turns NaN when things go wrong; should come down as the critic learns.",
                "stability",
                vital=True,
            ),
            Watch(
                "critic/explained_variance",
                "Near 1 the critic explains the returns, at 0 it is a constant, below 0 it is worse than one.",
                "stability",
            ),
            *_POLICY[6:10],
            Watch("reward/kl_penalty", "How much the KL penalty takes from the score.", "stability"),
            *_POLICY[10:],
        ),
        "training metrics glossary, section 12; TRL logging guide, crucial values",
    ),
    Scenario(
        "trl-ppo",
        "TRL's crucial values for PPO",
        (),
        (
            Watch(
                "score/mean",
                "objective/scores: what the reward model or environment gives.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "reward/score_with_kl",
                "objective/rlhf_reward: score plus the (negative) KL term; the objective itself, so it should rise.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "reward/kl_penalty",
                "objective/non_score_reward: the KL penalty's share of it.",
                "effectiveness",
                vital=True,
            ),
            Watch("critic/loss", "loss/value_avg: spikes and NaN show here first.", "stability", vital=True),
            Watch(
                "policy/ratio/mean",
                "val/ratio: near 1.0. Before TRL 1.13 it is divided by "
                "num_mini_batches, so 0.5 with two mini-batches is 1.0.",
                "stability",
                vital=True,
            ),
            Watch("policy/clip/region", "policy/clipfrac_avg: follows the ratio.", "stability"),
            Watch("policy/kl_update_k2", "policy/approxkl_avg: follows the ratio.", "stability"),
            Watch("policy/kl_ref_sum", "objective/kl: positive and not too large.", "stability", vital=True),
        ),
        "TRL logging guide, crucial values",
    ),
    Scenario(
        "trl-grpo",
        "TRL's crucial values for GRPO",
        (),
        (
            Watch("reward/mean", "reward: the mean weighted raw reward; should rise.", "effectiveness", vital=True),
            Watch("policy/kl_ref_k3", "kl: logged when beta is not 0.", "stability", vital=True),
            Watch(
                "policy/clip/region",
                "clip_ratio/*: very high means steps too large or a clip range too narrow.",
                "stability",
                vital=True,
            ),
            Watch("length/not_ended", "completions/clipped_ratio: answers that never ended.", "data", vital=True),
            Watch(
                "reward_component/{component}/mean",
                "rewards/{function}/mean: which part of the behaviour is learned.",
                "effectiveness",
                vital=True,
            ),
            Watch("policy/entropy", "entropy: a collapse ends exploration early.", "stability", vital=True),
        ),
        "TRL logging guide, crucial GRPO values",
    ),
    Scenario(
        "dpo",
        "DPO, SimPO and other preference losses",
        ("dpo", "simpo", "cpo", "orpo", "ipo"),
        (
            Watch(
                "preference/margin/mean",
                "How strongly the model tells chosen from rejected.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "preference/accuracy",
                "How often it prefers the chosen one; 99 % and more without a better evaluation is memorising.",
                "effectiveness",
                vital=True,
            ),
            Watch("preference/loss", "Should fall; DPO opens at ln 2 = 0.693.", "stability", vital=True),
            Watch(
                "preference/chosen_reward/mean",
                "Falling together with the rejected one: both answers become less likely.",
                "stability",
                vital=True,
            ),
            Watch(
                "preference/rejected_reward/mean", "Should fall faster than the chosen one.", "stability", vital=True
            ),
            Watch(
                "eval/{set}/{score}/mean@{k}",
                "Margins that grow while this stands still are overfitting.",
                "effectiveness",
                vital=True,
            ),
            Watch("optimiser/grad_norm", "Spikes mean bad pairs or too large a step.", "stability"),
        ),
        "training metrics glossary, sections 5 and 12",
    ),
    Scenario(
        "kto",
        "KTO: answers that are good or bad, without pairs",
        ("kto", "bco"),
        (
            Watch(
                "preference/margin/mean",
                "How far the rewards of desirable answers lie above those of undesirable ones.",
                "effectiveness",
                vital=True,
            ),
            Watch("preference/loss", "Should fall; KTO opens at a half for balanced data.", "stability", vital=True),
            Watch(
                "preference/kto/kl",
                "The baseline that both sides are compared with; a growing one is a policy that leaves the reference.",
                "stability",
                vital=True,
            ),
            Watch("preference/chosen_reward/mean", "Should rise for desirable answers.", "stability", vital=True),
            Watch("preference/rejected_reward/mean", "Should fall for undesirable ones.", "stability", vital=True),
            Watch(
                "eval/{set}/{score}/mean@{k}",
                "Rewards that part while this stands still are overfitting.",
                "effectiveness",
                vital=True,
            ),
            Watch("optimiser/grad_norm", "Spikes mean bad labels or too large a step.", "stability"),
        ),
        "training metrics glossary, section 5; TRL KTO trainer",
    ),
    Scenario(
        "sft",
        "Supervised fine-tuning",
        ("sft",),
        (
            Watch("sft/loss", "Should fall, fast at first and then slowly.", "effectiveness", vital=True),
            Watch("eval/loss", "Rising while the training loss falls is overfitting.", "effectiveness", vital=True),
            Watch(
                "eval/{set}/{score}/mean@{k}",
                "What the model can do, which the loss does not say.",
                "effectiveness",
                vital=True,
            ),
            Watch("sft/token_accuracy", "How often the next token is the right one.", "effectiveness", vital=True),
            Watch("sft/entropy", "Falls as the model gets sure of the data.", "stability", vital=True),
            Watch("optimiser/grad_norm", "Spikes mean odd batches or too large a step.", "stability", vital=True),
            Watch("sft/grad_norm", "The same, as a supervised trainer reports it.", "stability", vital=True),
            Watch("perf/throughput", "Tokens per second and GPU.", "efficiency", vital=True),
        ),
        "TRL SFT trainer; training metrics glossary, section 2",
    ),
    Scenario(
        "distillation",
        "Distillation from a teacher",
        ("distillation", "gkd", "opd", "minillm"),
        (
            Watch("distillation/loss/mean", "The distance to the teacher; should fall.", "effectiveness", vital=True),
            Watch("distillation/jsd", "The same as a divergence between 0 and ln 2.", "effectiveness", vital=True),
            Watch("distillation/opd_reverse_kl", "Its reverse KL on the student's own tokens.", "effectiveness"),
            Watch(
                "eval/{set}/{score}/mean@{k}",
                "A student that imitates better need not do the task better.",
                "effectiveness",
                vital=True,
            ),
            Watch("distillation/overlap", "How many of the likely tokens the two share.", "effectiveness", vital=True),
            Watch("distillation/teacher_mass/mean", "Mass of the teacher on the tokens compared.", "data", vital=True),
            Watch("policy/entropy", "Exploration left in the student.", "stability", vital=True),
            Watch("optimiser/grad_norm", "Spikes mean too large a step.", "stability"),
            Watch("length/completion/generated/mean", "The student's own answers.", "data"),
        ),
        "TRL GKD trainer; veRL and prime-rl on-policy distillation",
    ),
    Scenario(
        "reward_model",
        "Reward model",
        ("reward_model", "reward", "rm"),
        (
            Watch("reward_model/accuracy", "How often the judge picks the better answer.", "effectiveness", vital=True),
            Watch(
                "reward_model/margin/mean",
                "How decisive it is; near zero it says nothing.",
                "effectiveness",
                vital=True,
            ),
            Watch("reward_model/loss", "Should fall; opens at ln 2 = 0.693.", "stability", vital=True),
            Watch(
                "eval/{set}/{score}/mean@{k}",
                "Validation accuracy should follow training accuracy.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "reward_model/score/mean",
                "Drift of the scale from version to version hints at contamination by the policy's own answers.",
                "data",
                vital=True,
            ),
            Watch(
                "optimiser/grad_norm", "Spikes mean contradictory pairs or too large a step.", "stability", vital=True
            ),
        ),
        "training metrics glossary, sections 6 and 12",
    ),
    Scenario(
        "agent",
        "Agents: several turns and tools",
        ("agent",),
        (
            *_POLICY[:2],
            Watch(
                "turns/generated/max",
                "Suddenly large means loops or tools that fail and are retried.",
                "data",
                vital=True,
            ),
            Watch(
                "tool/failure_share",
                "Watch it always: a failing tool looks like a policy that cannot learn.",
                "data",
                vital=True,
            ),
            Watch("tool/calls/generated/mean", "Does the policy use its tools, and how often.", "data"),
            Watch("staleness/max", "Long episodes meet old weights.", "stability", vital=True),
            Watch("length/truncated/generated", "Episodes cut before they could be scored.", "data", vital=True),
            *_POLICY[3:7],
            Watch("time/waiting_for_data", "The trainer waits for the slowest episode.", "efficiency"),
        ),
        "training metrics glossary, section 7; practitioners' advice on tool failure rates",
    ),
    Scenario(
        "embodied",
        "Embodied policies",
        ("embodied", "sac", "vla"),
        (
            Watch(
                "env/success_once",
                "The truest measure: did the episode succeed at any time.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "env/success_at_end",
                "Beside the first: the gap is success that was not held.",
                "effectiveness",
                vital=True,
            ),
            Watch("policy/kl_update_k1", "Movement per update.", "stability", vital=True),
            Watch(
                "policy/clip/region",
                "Share of actions at the trust region; must lie between 0 and 1, whatever a framework logs.",
                "stability",
            ),
            Watch("critic/explained_variance", "Does the critic predict returns.", "stability", vital=True),
            Watch("critic/loss", "Should come down.", "stability"),
            Watch(
                "env/return/mean",
                "Near zero until the first success under sparse rewards, so read success first.",
                "effectiveness",
                vital=True,
            ),
            Watch(
                "env/episode_len/mean",
                "Falls as the policy gets faster, unless episodes always run to the end.",
                "data",
                vital=True,
            ),
            Watch("advantage/mean", "Near zero after normalisation; look at its extremes.", "stability"),
        ),
        "RLinf training metrics page",
    ),
)

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "reward-crashes",
        "Reward crashes",
        (("policy/entropy", "did it drop suddenly?"),),
        (
            ("policy/clip/region", "is it spiking?"),
            ("policy/kl_ref_k3", "did it take off before?"),
            ("group/zero_spread", "do groups still have a spread to learn from?"),
        ),
        "The policy usually collapsed onto one answer, or took steps too large to recover from.",
    ),
    Symptom(
        "kl-spikes",
        "KL spikes",
        (("policy/kl_update_k1", "is it one step or a trend?"),),
        (
            ("optimiser/lr", "did the schedule change at that step?"),
            ("optimiser/grad_norm", "did it spike with it?"),
            ("advantage/max", "did one tiny reward spread blow up the normalised advantages?"),
        ),
        "One or a few updates went too far; KL spikes often come before reward falls.",
    ),
    Symptom(
        "eval-stalls",
        "Evaluation stalls while reward rises",
        (("length/completion/generated/mean", "is length what is being rewarded?"),),
        (
            ("length/aborted/generated", "are many generations failing?"),
            ("reward_component/{component}/mean", "which component carries the rise?"),
            ("discarded/share", "does the reward count only the samples that were trained on?"),
        ),
        "The reward can be earned without doing the task: hacking, a leak, or a curve that only counts the survivors.",
    ),
    Symptom(
        "slow",
        "Training is slow",
        (("time/step", "which part of it grew?"),),
        (
            ("perf/throughput", "per GPU, against earlier steps?"),
            ("balance/after/spread", "do some ranks wait for others?"),
            ("time/waiting_for_data", "does the trainer wait for rollouts?"),
            ("group/length_max_median", "is one long answer holding up its batch?"),
        ),
        "Start with the slowest part; generation is the usual one, and stragglers the usual reason.",
    ),
    Symptom(
        "oom",
        "Out of memory",
        (("balance/before/max", "is one rank given too many tokens?"),),
        (
            ("length/response/generated/max", "did the longest answer grow?"),
            ("length/prompt/generated/max", "is a prompt too long?"),
            ("host/gpu_memory_used", "does it creep up, or jump?"),
        ),
        "The largest batch decides, not the mean.",
    ),
    Symptom(
        "all-spike",
        "Loss, KL and gradient norm spike together",
        (("optimiser/lr", "did the schedule change at that step?"),),
        (
            ("policy/ratio/max", "did one token blow up?"),
            ("policy/kl_sampler_k3", "do the engine and the trainer disagree?"),
        ),
        "A step size or numerics problem rather than a property of the task.",
    ),
    Symptom(
        "validation-drops",
        "Validation accuracy drops",
        (("policy/kl_ref_k3", "is training itself unstable?"),),
        (
            ("reward/generated/mean", "does the training reward still rise? Then the reward or the data is wrong."),
            ("length/truncated/generated", "are answers cut?"),
        ),
        "Find out first whether training is unstable or the reward is mis-specified; only then touch the optimiser.",
    ),
    Symptom(
        "kl-flat",
        "KL stays near zero for long",
        (("policy/kl_ref_k3", "has it moved at all since the start?"),),
        (
            ("optimiser/lr", "is it still warming up?"),
            ("group/zero_spread", "do groups have any spread?"),
            ("advantage/std", "is there any signal?"),
        ),
        "Nothing new is being learned: no signal, or no step.",
    ),
    Symptom(
        "critic-never-learns",
        "Value loss never comes down",
        (("critic/explained_variance", "is it at or below zero?"),),
        (
            ("critic/returns/std", "is the reward scale reasonable?"),
            ("critic/values/mean", "does it drift or saturate?"),
        ),
        "Reward scale, masks or capacity of the critic; the advantages are noise until it is fixed.",
    ),
    Symptom(
        "turns-explode",
        "The maximum number of turns becomes very large",
        (("tool/failure_share", "do calls fail and get retried?"),),
        (
            ("stop/{reason}", "do episodes end by max_turns?"),
            ("turns/generated/p50", "the typical episode, or only the extreme?"),
        ),
        "Loops, or tools that fail.",
    ),
    Symptom(
        "margins-without-gain",
        "Preference margins grow, evaluation does not",
        (("preference/accuracy", "is it at 99 % or more?"),),
        (
            ("preference/chosen_reward/mean", "is it falling too?"),
            ("eval/{set}/{score}/mean@{k}", "since when is it flat?"),
        ),
        "The model memorises the training pairs.",
    ),
    Symptom(
        "judge-without-effect",
        "The reward model is accurate, the policy does not improve",
        (("reward_model/margin/mean", "does it still tell answers apart?"),),
        (
            ("reward_model/accuracy", "on held-out pairs too?"),
            ("group/zero_spread", "do the policy's own answers get different scores?"),
        ),
        "The judge overfits, or judges something else than quality.",
    ),
    Symptom(
        "entropy-collapses",
        "Entropy collapses early",
        (("policy/clip/high", "are good rare tokens being clipped?"),),
        (
            ("group/reward_gini", "is there still spread inside groups?"),
            ("optimiser/lr", "is the step too large?"),
            ("policy/entropy_coef", "is there a bonus at all?"),
        ),
        "The policy commits before it has explored; what follows is repetition.",
    ),
    Symptom(
        "groups-dead",
        "Most groups have no spread",
        (("group/all_fail", "are they all wrong?"),),
        (
            ("group/zero_spread_expected", "is that more than the prompts' own pass rates predict?"),
            ("length/truncated/generated", "does everything fail because it is cut?"),
            ("group/all_pass", "or is the data too easy by now?"),
        ),
        "Too hard, too easy, or a systematic failure such as a time limit; without spread there is no gradient.",
    ),
    Symptom(
        "sampler-mismatch",
        "The engine and the trainer disagree on probabilities",
        (("policy/kl_sampler_k3", "above 1e-3?"),),
        (
            ("mismatch/probs_diff/mean", "above 0.01?"),
            ("mismatch/weight_effective", "is the effective sample small?"),
            ("staleness/max", "or is it only age?"),
        ),
        "Precision, a stale weight copy, or different sampling settings on the two sides.",
    ),
)


def scenario(name: str) -> Scenario:
    """Return the scenario of that name, or of that algorithm. Raises NotFound."""
    word = name.lower().replace("-", "_")
    for s in SCENARIOS:
        if name.lower() == s.name or word == s.name or word in s.algorithms:
            return s
    known = [s.name for s in SCENARIOS]
    raise NotFound(f"no scenario {name!r}; there are {', '.join(known)}.{nearest(name, known)}")


def symptom(name: str) -> Symptom:
    """Return the symptom of that name or that sentence. Raises NotFound."""
    for s in SYMPTOMS:
        if name.lower() in (s.name, s.sees.lower()):
            return s
    known = [s.name for s in SYMPTOMS]
    raise NotFound(f"no symptom {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
