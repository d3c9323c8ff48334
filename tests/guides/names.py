"""Every metric name that the five guides write, with the dialect in which each guide means it.

Where a guide writes a placeholder (`*`, `{reward_func_name}`, a set of its example), the name is
the same with a word of the recorded runs in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PPO, GRPO = "trl:ppo@1.12", "trl:grpo"
STATS = ("mean", "std", "min", "max")


class Written(NamedTuple):
    """A name as a run can be asked for it."""

    guide: str
    dialect: str
    name: str


def _in(guide: str, dialect: str, names: Iterable[str]) -> list[Written]:
    return [Written(guide, dialect, name) for name in names]


TELESCOPE = (
    *("entropy", "kl_divergence_inference", "grad_norm", "learning_rate"),
    *("stop_reason_length_pct", "group_length_gini_mean", "group_length_max_median_ratio_mean"),
    *("timing_step_total", "timing_step_active", "timing_forward_total", "timing_backward_total"),
    *("timing_loss_computation_total", "timing_compute_kl_total", "timing_compute_entropy_total"),
    *("timing_data_to_device_total", "timing_prepare_tensors_total", "timing_waiting_for_data"),
    *("timing_weight_sync_trainer_total", "timing_weight_sync_inference_total", "timing_forward_microbatch_mean"),
)
GLOSSARY = (
    *("val-core/sorting-eval/acc/mean@2", "val-aux/sorting-eval/reward/mean@2"),
    *(f"val-aux/num_turns/{stat}" for stat in ("min", "max", "mean")),
    *("actor/loss", "actor/pg_loss", "actor/entropy_loss", "actor/kl_loss", "actor/kl_coef", "actor/grad_norm"),
    *("actor/entropy", "actor/approx_kl", "actor/ppo_kl", "actor/pg_clipfrac", "actor/lr", "critic/lr"),
    *("lr_scheduler/last_epoch", "critic/loss", "critic/value/mean", "critic/rewards/mean"),
    *("critic/advantages/mean", "critic/advantages/std"),
    *("response_length/mean", "response_length/max", "response_length/clip_ratio"),
    *("prompt_length/mean", "prompt_length/clip_ratio", "response/aborted_ratio"),
    *("num_turns/min", "num_turns/max", "num_turns/mean"),
    *(f"global_seqlen/{of}" for of in ("min", "max", "minmax_diff", "balanced_min", "balanced_max", "mean")),
    *("timing_s/step", "timing_s/gen", "timing_s/reward", "timing_s/old_log_prob", "timing_s/ref", "timing_s/adv"),
    *("timing_s/update_actor", "timing_s/update_critic", "timing_s/update_weights"),
    *(f"timing_s/agent_loop/generate_sequences/{stat}" for stat in ("min", "max", "mean")),
    *(f"timing_s/agent_loop/tool_calls/{stat}" for stat in ("min", "max", "mean")),
    *("timing_s/agent_loop/slowest/generate_sequences", "timing_s/agent_loop/slowest/tool_calls"),
    *("timing_s/agent_loop/slowest/prompt_length", "timing_s/agent_loop/slowest/response_length"),
    *(f"timing_per_token_ms/{part}" for part in ("gen", "ref", "adv", "update_actor")),
    *("perf/total_num_tokens", "perf/time_per_step", "perf/throughput", "perf/mfu/actor_infer", "perf/mfu/actor"),
)
PREFERENCE = ("loss/dpo", "rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracy")
REWARD_MODEL = ("rm/loss", "rm/accuracy", "rm/reward_margin", "rm/grad_norm")
IN_TRL = ("policy/approx_kl", "entropy", "objective/kl", "loss/total", "response_length", "rewards")
RLINF = (
    *(f"train/actor/{of}" for of in ("approx_kl", "clip_fraction", "clipped_ratio", "grad_norm", "lr", "policy_loss")),
    *("train/critic/value_loss", "train/critic/value_clip_ratio", "train/critic/explained_variance"),
    *("train/entropy_loss", "train/loss"),
    *("rollout/advantages_max", "rollout/advantages_mean", "rollout/advantages_min", "rollout/rewards"),
    *("env/success_once", "env/episode_len", "env/return", "env/reward"),
)
TRL_PPO = (
    *("eps", "objective/kl", "objective/entropy", "objective/non_score_reward", "objective/rlhf_reward"),
    *("objective/scores", "policy/approxkl_avg", "policy/clipfrac_avg", "loss/policy_avg", "loss/value_avg"),
    *("val/clipfrac_avg", "policy/entropy_avg", "val/ratio", "val/ratio_var", "val/num_eos_tokens", "lr", "episode"),
)
TRL_GRPO = (
    *("num_tokens", "completions/mean_length", "completions/min_length", "completions/max_length"),
    *("completions/clipped_ratio", "completions/mean_terminated_length", "completions/min_terminated_length"),
    *("completions/max_terminated_length", "rewards/exact/mean", "rewards/exact/std", "reward", "reward_std"),
    *("kl", "entropy", "clip_ratio", "clip_ratio/low_mean", "clip_ratio/low_min", "clip_ratio/high_mean"),
    *("clip_ratio/high_max", "clip_ratio/region_mean"),
)
TRINITY = (
    *(f"rollout/accuracy/{stat}" for stat in ("mean", "max", "min")),
    *("rollout/in_place/mean", "time/eval", "time/wait_explore_step"),
    *(f"eval/sorting-eval/accuracy/{of}@2" for of in ("mean", "std", "best", "worst")),
    *(f"eval/sorting-eval/accuracy/{of}@2/{stat}" for of in ("mean", "std") for stat in STATS),
    *("bench/sorting-bench/accuracy/mean@2", "bench/sorting-bench/accuracy/best@2"),
    *(f"timing_per_token_ms/{part}" for part in ("update_actor", "update_critic", "adv", "values")),
    *("experience_pipeline/experience_count", "experience_pipeline/group_advantages/reward_mean/mean"),
    *("sample/model_version/mean", "sample/task_count"),
)
NAMES = [
    *_in("Telescope", "telescope", TELESCOPE),
    *_in("glossary", "verl", GLOSSARY),
    *_in("glossary", "trl:dpo", PREFERENCE),
    *_in("glossary", "trl:reward", REWARD_MODEL),
    *_in("glossary", "trl:ppo@1.12", IN_TRL),
    *_in("RLinf", "rlinf", RLINF),
    *_in("TRL", PPO, TRL_PPO),
    *_in("TRL", GRPO, TRL_GRPO),
    *_in("Trinity", "trinity", TRINITY),
]

PATTERNS = (  # names with a placeholder, as the guides write them
    *("val-core/*/acc/mean@*", "val-aux/*/reward/mean@*", "val-aux/num_turns/*", "lr_scheduler/*"),
    *("global_seqlen/*", "timing_s/agent_loop/generate_sequences/{min,max,mean}", "timing_s/agent_loop/slowest/*"),
    *("timing_per_token_ms/*", "rewards/{reward_func_name}/mean", "clip_ratio/*", "critic/rewards/{mean,max,min}"),
    *("rollout/{metric_name}/mean", "eval/{task_name}/{metric_name}/mean@*", "bench/*/accuracy/best@*"),
    *("train/actor/*", "env/*", "completions/*", "timing_*_total", "experience_pipeline/*"),
)
