"""slime: what `train/`, `rollout/` and `perf/` hold in its W&B and TensorBoard runs."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

slime = partial(Name, "slime")
_SAMPLES = "a mean over samples of each sample's token mean, unless --calculate-per-token-loss is set"
_OURS = "; ours counts every token once"

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (slime("train/grad_norm"),),
    "optimiser/lr": (slime("train/lr-pg_{i}", note="one for each parameter group"),),
    "policy/loss_total": (slime("train/loss"),),
    "policy/loss/configured": (slime("train/pg_loss", note=_SAMPLES),),
    "policy/entropy_aggregated": (slime("train/entropy_loss", note=f"a positive entropy; {_SAMPLES}"),),
    "policy/seq_kl_update_k1": (slime("train/ppo_kl", note=_SAMPLES),),
    "policy/clip/region": (slime("train/pg_clipfrac", same=False, note=_SAMPLES + _OURS),),
    "policy/kl_loss_aggregated": (slime("train/kl_loss", note=f"--kl-loss-type selects the estimator; {_SAMPLES}"),),
    "policy/seq_mask_tokens": (slime("train/opsm_clipfrac", same=False, note="the share of tokens that OPSM masks"),),
    "policy/ratio": (slime("train/ois", stat="mean", same=False, note=f"old to new log-probabilities; {_SAMPLES}"),),
    "mismatch/logp_gap": (
        slime("train/train_rollout_logprob_abs_diff", stat="mean", same=False, note=_SAMPLES + _OURS),
    ),
    "mismatch/weight": (slime("train/tis", stat="mean", same=False, note=_SAMPLES + _OURS),),
    "mismatch/weight_high": (slime("train/tis_clipfrac", same=False, note="tokens cut at either bound"),),
    "mismatch/log_ppl_engine": (slime("rollout/rollout_log_probs", scale=-1.0, note=f"a log-probability; {_SAMPLES}"),),
    "mismatch/log_ppl_trainer": (slime("rollout/log_probs", scale=-1.0, note=f"a log-probability; {_SAMPLES}"),),
    "distillation/loss": (slime("train/opd_reverse_kl", stat="mean", same=False, note=_SAMPLES + _OURS),),
    "critic/loss_configured": (slime("train/value_loss", note=_SAMPLES), slime("train/critic-value_loss")),
    "critic/clip": (
        slime("train/value_clipfrac", same=False, note="tokens whose value moved by more than --value-clip"),
    ),
    "critic/grad_norm": (slime("train/critic-grad_norm"),),
    "critic/lr": (slime("train/critic-lr-pg_{i}"),),
    "critic/returns": (slime("rollout/returns", stat="mean", same=False, note=_SAMPLES + _OURS),),
    "critic/values": (slime("rollout/values", stat="mean", same=False, note=_SAMPLES + _OURS),),
    "sft/mtp_loss/{i}": (slime("train/mtp_{i}_loss"),),
    "reward": (
        slime("rollout/raw_reward", stat="mean", note="before rewards are normalised inside a group"),
        slime("rollout/rewards", stat="mean", same=False, note="after normalisation inside a group, so about 0"),
    ),
    "advantage_sample": (slime("rollout/advantages", stat="mean"),),
    "length/completion": (
        slime("rollout/response_len/{mean,median=p50,max,min}"),
        slime("multi_turn/wo_obs_response_length/response_length_{mean,max,min}"),
    ),
    "length/response": (
        slime("rollout/response_lengths", stat="mean"),
        slime("multi_turn/raw_response_length/response_length_{mean,max,min}"),
    ),
    "length/total": (slime("rollout/total_lengths", stat="mean"),),
    "length/truncated": (slime("rollout/truncated_ratio"), slime("rollout/truncated")),
    "group/zero_spread": (
        slime("rollout/zero_std/count_{reward}", same=False, note="the number of such groups, one key for each reward"),
    ),
    "discarded/groups/filtered": (
        slime("rollout/dynamic_filter/drop_{reason}", same=False, note="one key for each reason of the filter"),
    ),
    "turns": (slime("multi_turn/multi_turn_metric/round_number_{mean,max,min}"),),
    "engine/cache_hit_share": (slime("rollout/prefix_cache_hit_rate"),),
    "engine/spec_accept_rate_per_request": (slime("rollout/spec_accept_rate"),),
    "engine/spec_accept_length_per_request": (slime("rollout/spec_accept_length"),),
    "time/step": (slime("perf/step_time"),),
    "time/rollout": (slime("perf/rollout_time"),),
    "time/train_step": (slime("perf/train_time"),),
    "time/update_policy": (slime("perf/actor_train_time"),),
    "time/waiting_for_data": (slime("perf/train_wait_time"),),
    "time/old_logp": (slime("perf/log_probs_time"),),
    "time/ref_logp": (slime("perf/ref_log_probs_time"),),
    "time/sync_weights": (slime("perf/update_weights_time"),),
    "time/save_checkpoint": (slime("perf/save_model_time"),),
    "time/prepare_batch": (slime("perf/data_preprocess_time"),),
    "time/{operation}": (slime("perf/{operation}_time"),),
    "async/trainer_idle": (slime("perf/wait_time_ratio"),),
    "perf/tflops/training": (slime("perf/actor_train_tflops"),),
    "perf/throughput": (
        slime("perf/tokens_per_gpu_per_sec", same=False, note="generated tokens over the seconds of the rollout alone"),
    ),
}
