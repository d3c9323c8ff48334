"""NeMo-RL: what its GRPO loops log below `train/`, `performance/` and `timing/train/`."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

nemo = partial(Name, "nemo_rl")
_KL = "reference_policy_kl_type selects the estimator; k3 is the default"
_PREFERENCE = "dpo,rm"

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (nemo("train/grad_norm"),),
    "optimiser/lr": (nemo("train/lr"),),
    "policy/loss_total": (nemo("train/loss"),),
    "policy/kl_ref_k3": (nemo("train/kl_penalty", note=f"{_KL}; weighted by importance if that is configured"),),
    "policy/ratio": (
        nemo("train/probs_ratio", stat="mean"),
        nemo("train/probs_ratio_{max,min}"),
    ),
    "policy/ratio_clipped": (nemo("train/probs_ratio_clamped"),),
    "policy/kl_sampler_k3": (nemo("train/gen_kl_error", note=_KL),),
    "mismatch/kl_reverse": (nemo("train/policy_kl_error", note=_KL),),
    "mismatch/probs_mult_error": (nemo("train/token_mult_prob_error"),),
    "mismatch/weight": (nemo("train/sampling_importance_ratio", stat="mean"),),
    "mismatch/weight_outside": (
        nemo("train/is_oob_ratio", same=False, note="outside the configured bounds, not a tenth"),
    ),
    "policy/entropy_sampled": (
        nemo(
            "train/approx_entropy",
            note="each token is weighted by current / engine probability, to correct for who sampled it",
        ),
    ),
    "critic/loss_configured": (nemo("train/critic/loss"),),
    "critic/grad_norm": (nemo("train/critic/grad_norm"),),
    "critic/lr": (nemo("train/critic/lr"),),
    "critic/explained_variance_stabilised": (
        nemo("train/critic/explained_var", same=False, note="the variance of the returns is at least 1e-8"),
    ),
    "critic/clip": (nemo("train/critic/vf_clipfrac"),),
    "critic/values": (nemo("train/critic/values_{mean,min,max}"),),
    "critic/returns": (nemo("train/critic/returns_mean", stat="mean"),),
    "advantage": (nemo("train/advantages/{mean,max,min}"),),
    "reward": (
        nemo("train/reward", stat="mean", scope="generated", note="with dynamic sampling, before groups are dropped"),
        nemo("train/filtered_reward", stat="mean", note="with dynamic sampling, the samples that are trained on"),
    ),
    "task_reward/min": (
        nemo("train/baseline_reward/pct_0", same=False, note="the percentage of prompts whose mean reward is 0"),
    ),
    "task_reward/max": (
        nemo("train/baseline_reward/pct_1", same=False, note="the percentage of prompts whose mean reward is 1"),
    ),
    "group/mixed": (nemo("train/baseline_reward/pct_mixed", scale=100.0, note="for rewards of 0 or 1"),),
    "length/prompt": (nemo("train/mean_prompt_length", stat="mean"),),
    "length/completion": (
        nemo("train/mean_gen_tokens_per_sample", stat="mean", scope="generated"),
        nemo("train/max_gen_tokens_per_sample", stat="max", scope="generated"),
    ),
    "length/total": (nemo("train/mean_total_tokens_per_sample", stat="mean", scope="generated"),),
    "length/truncated": (nemo("train/truncation_rate", scope="generated"),),
    "length/ended": (nemo("train/natural_termination_rate"),),
    "turns": (
        nemo("train/avg_turns_per_sample", stat="mean", scope="generated"),
        nemo("train/max_turns_per_sample", stat="max", scope="generated"),
    ),
    "turns/total": (nemo("train/total_turns"),),
    "turns/exhausted": (nemo("train/max_turns_reached_rate", scope="generated"),),
    "samples/trained": (nemo("train/num_valid_samples"), nemo("train/global_valid_seqs")),
    "batch/trained_tokens": (nemo("train/global_valid_toks"),),
    "perf/tokens": (nemo("train/total_num_tokens"),),
    "staleness": (nemo("train/avg_trajectory_age", stat="mean"),),
    "async/queue": (nemo("train/buffer_size", same=False, note="groups of one prompt, not samples"),),
    "perf/throughput": (nemo("performance/tokens_per_sec_per_gpu"),),
    "perf/mfu/policy": (nemo("performance/train_fp_utilization"),),
    "perf/tokens_per_second/generated": (nemo("performance/generation_tokens_per_sec"),),
    "async/trainer_idle": (nemo("performance/training_worker_idle_time_ratio"),),
    "sft/loss": (nemo("train/sft_loss", trainer=_PREFERENCE),),
    "preference/accuracy": (nemo("train/accuracy", trainer=_PREFERENCE),),
    "preference/loss": (nemo("train/preference_loss", trainer=_PREFERENCE),),
    "preference/chosen_reward": (nemo("train/rewards_chosen_mean", trainer=_PREFERENCE, stat="mean"),),
    "preference/rejected_reward": (nemo("train/rewards_rejected_mean", trainer=_PREFERENCE, stat="mean"),),
    "time/step": (nemo("timing/train/total_step_time"),),
    "time/generate": (nemo("timing/train/generation"),),
    "time/wait_rollout": (nemo("timing/train/exposed_generation"),),
    "time/update_policy": (nemo("timing/train/policy_training"),),
    "time/old_logp": (
        nemo("timing/train/policy_and_reference_logprobs", note="the pass of the reference model included"),
    ),
    "time/reward": (nemo("timing/train/reward_calculation"),),
    "time/advantage": (nemo("timing/train/advantage_calculation"),),
    "time/prepare_batch": (nemo("timing/train/data_processing"),),
    "time/sync_weights": (
        nemo("timing/train/prepare_for_generation/transfer_and_update_weights"),
        nemo("timing/train/weight_sync"),
    ),
    "time/save_checkpoint": (nemo("timing/train/checkpointing"),),
    "eval/{set}/{score}/mean@{k}": (
        nemo("validation/accuracy", same=False, note="the mean reward of the rollouts of all sets together"),
        nemo("validation-{set}/accuracy", trainer=_PREFERENCE, same=False, note="the share of pairs ranked right"),
    ),
    "eval/{set}/{score}/pass@{k}": (
        nemo("validation/pass_k", same=False, note="over the rollouts of all sets; k is the number of a prompt's"),
    ),
    "eval/{set}/tokens": (nemo("validation/avg_length", stat="mean", same=False, note="over all sets together"),),
    "time/evaluate": (nemo("timing/validation/total_validation_time"),),
    "time/waiting_for_data": (nemo("timing/train/idle/buffer_starvation"),),
    "time/{operation}": (nemo("timing/train/{operation}"),),
}
