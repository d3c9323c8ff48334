"""The names in the published guides to RL logs, and statements there that the code contradicts.

A test checks that each name resolves to an entry and each entry has a producer. `docs/names.md` is
generated from this table. A `{word}` or a `*` matches anything.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guide:
    name: str
    dialect: str | None  # whose names the guide prints; None if it mixes several
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    guide: str
    says: str
    code: str  # what the code of that framework does
    where: str  # framework, version, file


def _each(prefix: str, words: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{word}" for word in words.split())


TELESCOPE = Guide(
    "Telescope, metrics page",
    "telescope",
    (
        *_each(
            "",
            "entropy kl_divergence_inference grad_norm learning_rate stop_reason_length_pct "
            "group_length_gini_mean group_length_max_median_ratio_mean",
        ),
        *_each(
            "", "total_tool_calls tool_success_count tool_error_count tool_success_rate unique_tools_used {tool}_calls"
        ),
        *_each(
            "timing_",
            "step_total step_active forward_total backward_total loss_computation_total "
            "compute_kl_total compute_entropy_total data_to_device_total",
        ),
        *_each(
            "timing_",
            "prepare_tensors_total waiting_for_data weight_sync_trainer_total "
            "weight_sync_inference_total forward_microbatch_mean",
        ),
    ),
)
GLOSSARY = Guide(
    "Training metrics glossary, appendix B.4",
    "verl",
    (
        *_each("", "val-core/*/acc/mean@1 val-aux/*/reward/mean@1 val-aux/num_turns/*"),
        *_each("actor/", "loss pg_loss entropy_loss kl_loss kl_coef grad_norm entropy approx_kl pg_clipfrac lr ppo_kl"),
        *_each("critic/", "lr loss value/mean advantages/mean advantages/std rewards/mean"),
        "lr_scheduler/*",
        *_each("response_length/", "mean max clip_ratio"),
        *_each("prompt_length/", "mean max clip_ratio"),
        "response/aborted_ratio",
        *_each("num_turns/", "min max mean"),
        *_each("global_seqlen/", "min max minmax_diff balanced_min balanced_max mean"),
        *_each("timing_s/", "step gen reward old_log_prob ref adv update_actor update_critic update_weights"),
        *_each("timing_s/agent_loop/", "generate_sequences/min generate_sequences/max generate_sequences/mean"),
        *_each("timing_s/agent_loop/", "tool_calls/min tool_calls/max tool_calls/mean slowest/*"),
        *_each("timing_per_token_ms/", "gen ref adv update_actor"),
        *_each("perf/", "total_num_tokens time_per_step throughput mfu/actor_infer mfu/actor"),
    ),
)
GLOSSARY_PAIRS = Guide(
    "Training metrics glossary: preference pairs", "trl:dpo", _each("rewards/", "chosen rejected margins")
)
GLOSSARY_LOOSE = Guide(
    "Training metrics glossary: names of no framework",
    None,
    (*_each("", "loss/dpo rewards/accuracy"), *_each("rm/", "loss accuracy reward_margin grad_norm")),
)
GLOSSARY_TRL = Guide(
    "Training metrics glossary: TRL's column", "trl", _each("", "objective/kl policy/approx_kl loss/total rewards")
)
GLOSSARY_LENGTH = Guide("Training metrics glossary: lengths", "openrlhf", ("response_length",))
RLINF = Guide(
    "RLinf, training metrics page",
    "rlinf",
    (
        *_each("train/actor/", "approx_kl clip_fraction clipped_ratio grad_norm lr policy_loss"),
        *_each("train/critic/", "value_loss value_clip_ratio explained_variance"),
        *_each("train/", "entropy_loss loss"),
        *_each("rollout/", "advantages_max advantages_mean advantages_min rewards"),
        *_each("env/", "success_once episode_len return reward"),
    ),
)
TRL_PPO = Guide(
    "TRL, logging page: PPO",
    "trl:ppo",
    (
        *_each("", "eps lr episode"),
        *_each("objective/", "kl entropy non_score_reward rlhf_reward scores"),
        *_each("policy/", "approxkl_avg clipfrac_avg entropy_avg"),
        *_each("loss/", "policy_avg value_avg"),
        *_each("val/", "clipfrac_avg ratio ratio_var num_eos_tokens"),
    ),
)
TRL_GRPO = Guide(
    "TRL, logging page: GRPO",
    "trl:grpo",
    (
        "num_tokens",
        *_each(
            "completions/",
            "mean_length min_length max_length clipped_ratio "
            "mean_terminated_length min_terminated_length max_terminated_length",
        ),
        *_each(
            "", "rewards/{reward_func_name}/mean rewards/{reward_func_name}/std reward reward_std kl entropy clip_ratio"
        ),
        *_each("clip_ratio/", "low_mean low_min high_mean high_max region_mean"),
    ),
)
TRINITY = Guide(
    "Trinity-RFT, metrics reference",
    "trinity",
    (
        *_each("rollout/", "accuracy/mean accuracy/max accuracy/min format_score/mean"),
        *_each(
            "eval/",
            "gsm8k-eval/accuracy/mean@4 dummy/accuracy/mean@2 dummy/accuracy/std@2 "
            "dummy/accuracy/best@2 dummy/accuracy/worst@2",
        ),
        *_each(
            "eval/dummy/accuracy/",
            "mean@2/mean mean@2/std mean@2/max mean@2/min std@2/mean std@2/std std@2/max std@2/min",
        ),
        "bench/gsm8k-eval/accuracy/best@4",
        *_each("time/", "eval wait_explore_step"),
        *_each("timing_per_token_ms/", "update_actor update_critic adv values"),
        *_each("experience_pipeline/", "experience_count group_advantages/reward_mean/mean"),
        *_each("sample/", "model_version/mean task_count"),
    ),
)
GUIDES = (
    TELESCOPE,
    GLOSSARY,
    GLOSSARY_PAIRS,
    GLOSSARY_LOOSE,
    GLOSSARY_TRL,
    GLOSSARY_LENGTH,
    RLINF,
    TRL_PPO,
    TRL_GRPO,
    TRINITY,
)
# If frameworks disagree, a name without a dialect means what the first guide that prints it says.
COMMON: dict[str, str] = {
    name: guide.dialect
    for guide in reversed(GUIDES)
    for name in guide.metrics
    if guide.dialect and guide.name.startswith("Training metrics glossary")
}

CORRECTIONS: tuple[Correction, ...] = (
    Correction(
        GLOSSARY.name,
        "global_seqlen/minmax_diff tells how unbalanced the GPUs are.",
        "It is taken over contiguous chunks in the original order, before balancing. "
        "What remains after it is balanced_max minus balanced_min.",
        "veRL 0.8 and 0.9, seqlen_balancing.py",
    ),
    Correction(
        GLOSSARY.name,
        "actor/approx_kl, lr_scheduler/*, critic/value/mean, critic/advantages/std are logged.",
        "None of them exists in veRL: the update's KL is actor/ppo_kl, values are "
        "critic/values/mean, and no spread of advantages is logged.",
        "veRL 0.8 and 0.9",
    ),
    Correction(
        GLOSSARY.name,
        "loss/dpo, rewards/accuracy and rm/* come from the same stacks.",
        "TRL writes rewards/accuracies and accuracy, OpenRLHF acc; loss/dpo is XPO's "
        "key in TRL, and rm/* is in none of the versions read.",
        "TRL 1.10 to 1.16, OpenRLHF 0.11",
    ),
    Correction(
        GLOSSARY.name,
        "Entropy is policy/approx_kl in TRL.",
        "That key is not an entropy, nor does it exist: PPO's entropy is policy/entropy_avg, GRPO's is entropy.",
        "TRL 1.12 and 1.16",
    ),
    Correction(
        GLOSSARY.name,
        "veRL and OpenRLHF share one column of names.",
        "OpenRLHF has its own: ppo_kl, policy_loss, response_length, actor_grad_norm and so on, each behind train/.",
        "OpenRLHF 0.11",
    ),
    Correction(
        GLOSSARY.name,
        "actor/loss should trend down.",
        "A surrogate of normalised advantages has no reason to fall; read it for jumps.",
        "veRL 0.9, losses.py",
    ),
    Correction(
        GLOSSARY.name,
        "actor/loss and critic/loss are logged.",
        "Only on the engine path; the older workers log actor/pg_loss and critic/vf_loss.",
        "veRL 0.8 legacy workers",
    ),
    Correction(
        GLOSSARY.name,
        "response/aborted_ratio is the share of failed generations.",
        "It counts answers of length zero and nothing else.",
        "veRL 0.9, metric_utils.py",
    ),
    Correction(
        GLOSSARY.name,
        "response_length/clip_ratio is the share cut by max_response_length.",
        "It compares with the padded width; veRL's V1 trainer and Trinity pad to "
        "the batch's own maximum, so it is never 0 there.",
        "veRL 0.9 V1 trainer, Trinity-RFT 0.5",
    ),
    Correction(
        TRL_PPO.name,
        "objective/rlhf_reward is score minus non_score_reward.",
        "The two are added; non_score_reward is itself negative.",
        "TRL 1.12, ppo_trainer.py",
    ),
    Correction(
        TRL_PPO.name,
        "objective/kl is the mean KL divergence.",
        "It sums over the tokens of a sequence and averages over sequences, so it grows with length.",
        "TRL 1.12, ppo_trainer.py",
    ),
    Correction(
        TRL_PPO.name,
        "val/ratio floats around 1.0.",
        "With num_mini_batches = n the seven averaged statistics are divided by n, because slots that "
        "were never written count as zeros: 0.5 for two mini-batches is healthy.",
        "TRL up to 1.12, ppo_trainer.py",
    ),
    Correction(
        TRL_PPO.name,
        "val/ratio_var is the variance of the ratio.",
        "It is the variance of the micro-batches' means, not of tokens.",
        "TRL 1.12, ppo_trainer.py",
    ),
    Correction(
        TRL_PPO.name,
        "val/num_eos_tokens counts the end tokens generated.",
        "It counts those of the local process only.",
        "TRL 1.12, ppo_trainer.py",
    ),
    Correction(
        TRL_GRPO.name,
        "reward is taken after group-wise normalisation.",
        "It is the mean of the weighted raw rewards.",
        "TRL 1.10 and 1.16, grpo_trainer.py",
    ),
    Correction(
        TRL_GRPO.name,
        "reward_std is the spread before group-wise normalisation.",
        "It is the spread over the whole batch (ddof 1), not within groups.",
        "TRL 1.10 and 1.16, grpo_trainer.py",
    ),
    Correction(
        TRL_GRPO.name,
        "num_tokens counts input tokens.",
        "It counts prompts and completions together.",
        "TRL 1.10 and 1.16, grpo_trainer.py",
    ),
    Correction(
        TRL_GRPO.name,
        "clip_ratio/low_min and high_max are extremes over batches and processes.",
        "They are extremes over completions, averaged over the micro-batches of the logging window.",
        "TRL 1.10 and 1.16, grpo_trainer.py",
    ),
    Correction(
        TRL_GRPO.name, "clip_ratio is logged with Liger.", "The Liger path and its key went away in 1.14.", "TRL 1.14"
    ),
    Correction(
        RLINF.name,
        "train/critic/value_clip_ratio is the share of clipped value updates.",
        "It compares a clipped difference with its own bound, so what it counts is "
        "rounding: 0.366 was logged where 0.968 was true.",
        "RLinf 0.4, losses.py",
    ),
    Correction(
        RLINF.name,
        "train/actor/clip_fraction is a fraction.",
        "It counts one side only, and with a loss mask it can reach the number of action dimensions (7) or "
        "chunks times dimensions (35), since numerator and denominator have different shapes.",
        "RLinf 0.4, losses.py",
    ),
    Correction(
        RLINF.name,
        "train/actor/approx_kl is a KL divergence.",
        "It is the k1 estimate and may be negative; it has the denominator of clip_fraction.",
        "RLinf 0.4, losses.py",
    ),
    Correction(
        RLINF.name,
        "train/actor/clipped_ratio is the mean of the clipped ratios.",
        "It is the mean of all ratios after clamping.",
        "RLinf 0.4, losses.py",
    ),
    Correction(
        RLINF.name,
        "train/entropy_loss and train/loss.",
        "The keys are train/actor/entropy_loss (a positive entropy) and "
        "train/actor/total_loss (after division by gradient accumulation).",
        "RLinf 0.4, embodied actor worker",
    ),
    Correction(
        RLINF.name,
        "rollout/rewards is the reward of a chunk.",
        "It is a masked mean over environment sub-steps, with bootstrapped values in it where episodes are cut.",
        "RLinf 0.4, metric_utils.py",
    ),
    Correction(
        RLINF.name,
        "rollout/advantages_* describe the advantages collected.",
        "They are taken after normalisation, so the mean is near zero by construction.",
        "RLinf 0.4, advantages.py",
    ),
    Correction(
        RLINF.name,
        "env/reward is normalised by episode length.",
        "LIBERO divides by the steps until the first success instead.",
        "RLinf 0.4, libero_env.py",
    ),
    Correction(
        RLINF.name,
        "env/episode_len is the steps elapsed in the episode.",
        "Without auto_reset every episode runs to the end, so it is a "
        "constant; with it, it is rounded up to whole chunks.",
        "RLinf 0.4, env_worker.py",
    ),
    Correction(
        RLINF.name,
        "env/return is the episode return.",
        "LIBERO stops adding at the first success, ManiSkill does not, and "
        "D4RL logs a normalised score under this name.",
        "RLinf 0.4",
    ),
    Correction(
        TRINITY.name,
        "mean@2/std is 0.062 and std@2/std 0.047 in the diagram.",
        "The code takes pandas' std, ddof 1: 0.0764 and 0.0577. The diagram's figures are ddof 0. We write "
        "/std with ddof 1, as the code does, and /std0 with ddof 0 beside it, as in the diagram.",
        "Trinity-RFT 0.5, monitor.py",
    ),
    Correction(
        TRINITY.name,
        "best@4 is the best accuracy across 4 runs.",
        "It is the mean of 1,000 bootstrap draws with replacement: runs 1, 0, "
        "0, 0 give 0.687 where the best of the four is 1.",
        "Trinity-RFT 0.5 and veRL 0.9",
    ),
    Correction(
        TRINITY.name,
        "std@2 at step level is the spread over all tasks.",
        "It is the mean over tasks of the spread within a task (ddof 0).",
        "Trinity-RFT 0.5, monitor.py",
    ),
    Correction(
        TRINITY.name,
        "detailed_stats returns statistics in addition.",
        "They replace the plain keys, and best@k and worst@k get them too.",
        "Trinity-RFT 0.5, monitor.py",
    ),
    Correction(
        TRINITY.name,
        "The pipeline diagram ends in rollout/accuracy = 0.85.",
        "The key is experience_pipeline/group_advantages/reward_mean/mean, a mean of task "
        "means, which equals the sample mean only for groups of one size.",
        "Trinity-RFT 0.5",
    ),
    Correction(
        TRINITY.name,
        "Each pipeline metric is a count.",
        "Some are values; and operators share one dictionary, so the "
        "filtered_count of the last filter replaces the others'.",
        "Trinity-RFT 0.5, experience_pipeline.py",
    ),
    Correction(
        TRINITY.name,
        "Trainer metrics are adapted from veRL.",
        "critic/values/* and critic/vf_explained_var are not written, and "
        "advantages are averaged over the attention mask.",
        "Trinity-RFT 0.5, trainer/verl/utils.py",
    ),
    Correction(
        TELESCOPE.name,
        "Gini runs from 0 to 1.",
        "Its upper bound is (n - 1) / n, and groups whose sum is not positive count as 0.",
        "telescope-ui 0.1.44",
    ),
    Correction(
        TELESCOPE.name,
        "Reward statistics are over all samples of a step.",
        "They are over the remaining samples: groups without spread are dropped "
        "first, and with them every all-0 and all-1 group.",
        "Telescope 0.1.2, telescope-ui 0.1.44",
    ),
    Correction(
        TELESCOPE.name,
        "Declared ranges normalise the charts.",
        "They colour the rollouts; the line charts scale themselves.",
        "telescope-ui 0.1.44",
    ),
    Correction(
        TELESCOPE.name,
        "Step metrics are those of the training step.",
        "They are those of one rank: there is no reduction over data-parallel ranks.",
        "Telescope 0.1.2, runtime.py",
    ),
)
