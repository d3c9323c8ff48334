"""prime-rl: what its trainer and its orchestrator log, with the rollouts of verifiers."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.spec import Name

prime = partial(Name, "prime_rl")
_MEDIAN = "{mean,max,min,median=p50,std}"
_SOLVED = "rewards that add up to {}, whatever the declared range is"
_ALL, _SHIPPED = "train/agg/all", "train/agg/effective"
_IN_TRACES = "one number for each trace; an episode of several agents has several"


def _traces(rest: str, **more: Any) -> tuple[Name, ...]:
    """A number of all traces that arrived, and of those that were trained on."""
    return prime(f"{_ALL}/{rest}", scope="generated", **more), prime(f"{_SHIPPED}/{rest}", **more)


NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (prime("optim/grad_norm"),),
    "optimiser/lr": (prime("optim/lr"),),
    "policy/loss_total": (prime("loss/mean", note="the mean of the micro-batches' losses"),),
    "policy/entropy": (prime("entropy/all/mean"),),
    "policy/kl_behaviour_k3": (prime("mismatch_kl/all/mean"),),
    "mismatch/behaviour_weight_outside": (
        prime("is_masked/mean", same=False, note="the share of tokens that the loss masks, of each micro-batch"),
    ),
    "moe/violation_max": (prime("max_vio/mean", same=False, note="a mean over layers and micro-batches"),),
    "policy/kl_ref_k1": (
        prime("ref_kl/mean", scale=-1.0, same=False, note="the other sign, and of the tokens of distillation alone"),
    ),
    "sft/loss": (prime("nll/mean", note="the mean of the micro-batches' means"),),
    "reward": _traces("reward/{mean,max,min}"),
    "reward_env/{env}": (
        prime("train/{env}/all/reward/{mean,max,min}", scope="generated"),
        prime("train/{env}/effective/reward/{mean,max,min}"),
    ),
    "reward_component/{component}": _traces("rewards/{component}/{mean,max,min}"),
    "sample_metric/{metric}": _traces("metrics/{metric}/{mean,max,min}"),
    "length/total": _traces("num_total_tokens/{mean,max,min}"),
    "length/completion": _traces("num_output_tokens/{mean,max,min}"),
    "length/prompt": _traces(
        "num_input_tokens/{mean,max,min}", same=False, note="the text of tools and later messages counts too"
    ),
    "length/truncated": _traces("is_truncated/mean"),
    "length/ended": (prime(f"{_SHIPPED}/is_completed/mean"),),
    "turns": _traces("num_turns/{mean,max,min}"),
    "stop/{reason}": _traces("stop_condition/{reason}"),
    "sample_time/generate": (prime(f"{_SHIPPED}/timing/agent/model/{{mean,max,min}}", note=_IN_TRACES),),
    "sample_time/reward": (prime(f"{_SHIPPED}/timing/scoring/{{mean,max,min}}", note=_IN_TRACES),),
    "group/all_fail": (prime(f"{_ALL}/solved_none", note=_SOLVED.format("0")),),
    "group/all_pass": (prime(f"{_ALL}/solved_all", note="every reward is 1, whatever the declared range is"),),
    "group/mixed": (
        prime(f"{_ALL}/solved_some", same=False, note="not all 0 and not all 1: equal rewards between them count too"),
    ),
    "staleness": (prime("off_policy/{mean,max}"),),
    "async/dropped_stale": (prime("off_policy/dropped", same=False, note="of this step, not so far"),),
    "async/in_flight": (prime("dispatcher/inflight/train"),),
    "training/policy_version": (prime("watcher/policy_version"),),
    "samples/generated": (prime("progress/rollouts"),),
    "sampling/task_count": (prime("progress/tasks"),),
    "perf/tokens": (prime("progress/tokens"),),
    "counter/tokens": (prime("progress/total_tokens"), prime("progress/num_tokens")),
    "counter/samples": (prime("progress/total_rollouts"), prime("progress/num_samples")),
    "training/epoch": (prime("progress/epoch"),),
    "perf/throughput": (
        prime("perf/throughput", same=False, note="of all GPUs together, padding included, over forward and backward"),
        prime("perf/throughput_per_gpu", same=False, note="padding included, over forward and backward alone"),
    ),
    "perf/mfu/policy": (prime("perf/mfu", scale=100.0, note="in percent, over forward and backward alone"),),
    "engine/kv_cache_used": (prime("inference/agg/kv_cache_usage_perc/mean"),),
    "engine/requests_running": (prime("inference/agg/num_requests_running/mean", note="the mean of the engines"),),
    "engine/requests_waiting": (prime("inference/agg/num_requests_waiting/mean", note="the mean of the engines"),),
    "engine/cache_hit_share": (prime("inference/agg/prefix_cache_hit_rate/pooled"),),
    "time/waiting_for_data": (prime("time/wait_for_batch"),),
    "time/sync_weights": (prime("time/broadcast_weights"),),
    "time/save_checkpoint": (prime("time/save_ckpt"),),
    "time/read_samples": (prime("time/load_data"),),
}
