"""SkyRL: what its trainers log, synchronous and fully asynchronous."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

skyrl = partial(Name, "skyrl")
_WIDTHS = "whole responses, the text of tools and environments included"

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (skyrl("policy/grad_norm"),),
    "optimiser/lr": (skyrl("policy/policy_lr"),),
    "policy/loss_total": (skyrl("policy/final_loss"),),
    "policy/loss/configured": (skyrl("policy/policy_loss"),),
    "policy/entropy": (skyrl("policy/policy_entropy", note="the mean of the micro-batches' token means"),),
    "policy/kl_loss_aggregated": (
        skyrl("policy/policy_kl", note="kl_estimator_type selects the estimator; a mean over samples"),
    ),
    "policy/clip/region": (
        skyrl("policy/loss_metrics/clip_ratio", note="of another loss than PPO's, as that loss counts it"),
    ),
    "policy/reward_kl_penalty": (skyrl("loss/avg_kl"),),
    "policy/kl_coef": (skyrl("loss/kl_loss_coef"),),
    "mismatch/logp_gap": (
        skyrl("policy/rollout_train_logprobs_abs_diff_{mean,max,min,std}"),
        skyrl(
            "policy/minibatch_rollout_logprobs_abs_diff_{mean,max,min,std}",
            same=False,
            note="with the current policy's log-probabilities, so the update counts too",
        ),
    ),
    "critic/loss_configured": (skyrl("critic/critic_loss"),),
    "critic/predictions": (skyrl("critic/values_mean", stat="mean"),),
    "critic/clip": (skyrl("critic/values_clipfrac"),),
    "critic/lr": (skyrl("critic/critic_lr"),),
    "critic/grad_norm": (skyrl("critic/grad_norm"),),
    "reward": (
        skyrl("loss/avg_final_rewards", stat="mean", note="after the KL penalty, where there is one"),
        skyrl("reward_dropped/avg_raw_reward", stat="mean", scope="discarded"),
    ),
    "score": (skyrl("reward/avg_raw_reward", stat="mean", scope="generated"),),
    "group/any_pass": (
        skyrl("reward/avg_pass_at_{n}", same=False, note="prompts with any reward above 0, whatever the range is"),
    ),
    "advantage": (skyrl("loss/avg_raw_advantages", stat="mean"),),
    "discarded/groups/filtered": (skyrl("reward/num_zero_variance_filtered"), skyrl("async/num_groups_dropped")),
    "length/response": (skyrl("generate/{avg=mean,min,max,std}_num_tokens", scope="generated", note=_WIDTHS),),
    "length/completion": (skyrl("generate/{avg=mean,min,max,std}_assistant_tokens", scope="generated"),),
    "samples/generated": (skyrl("generate/batch_num_seq"),),
    "staleness": (skyrl("async/staleness_{mean,max,min}"),),
    "staleness_off_policy": (skyrl("async/staleness_ratio"),),
    "async/queue": (
        skyrl("async/gen_buffer_qsize_at_wait_start", same=False, note="groups of one prompt, not samples"),
    ),
    "eval/{set}/{score}/mean@{k}": (
        skyrl("eval/{set}/avg_score", same=False, note="the mean score of the set's samples; the key has no k"),
    ),
    "eval/{set}/{score}/pass@{k}": (
        skyrl("eval/{set}/pass_at_{k}", same=False, note="prompts with any score above 0; the key has no score"),
    ),
    "training/epoch": (skyrl("trainer/epoch"),),
    "training/step": (skyrl("trainer/global_step"),),
    "perf/throughput": (skyrl("trainer/tokens_per_second_per_gpu"),),
    "time/step": (skyrl("timing/step"),),
    "time/generate": (skyrl("timing/generate"),),
    "time/update_policy": (skyrl("timing/policy_train"),),
    "time/update_critic": (skyrl("timing/critic_train"),),
    "time/train_step": (skyrl("timing/train_critic_and_policy"),),
    "time/advantage": (skyrl("timing/compute_advantages_and_returns"),),
    "time/old_logp": (
        skyrl("timing/fwd_logprobs_values_reward", note="old and reference log-probabilities, and values"),
    ),
    "time/sync_weights": (skyrl("timing/sync_weights"),),
    "time/save_checkpoint": (skyrl("timing/save_checkpoints"),),
    "time/evaluate": (skyrl("timing/eval"),),
    "time/prepare_batch": (skyrl("timing/convert_to_training_input"),),
    "time/{operation}": (skyrl("timing/{operation}"),),
}
