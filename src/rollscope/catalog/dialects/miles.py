"""miles: what it logs beside slime's names, of which it is a fork."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

miles = partial(Name, "miles")

NAMES: dict[str, tuple[Name, ...]] = {
    "group/all_fail": (miles("rollout/zero_std/all_zero_percentage", note="a share; groups whose rewards are all 0"),),
    "group/all_pass": (miles("rollout/zero_std/all_one_percentage", note="a share; groups whose rewards are all 1"),),
    "policy/kl_sampler_k3": (
        miles("train/train_rollout_kl", same=False, note="a mean over samples of each sample's token mean"),
    ),
    "mismatch/weight_effective": (
        miles("train/ess_ratio", same=False, note="of the weights between the current and the old policy"),
    ),
    "sampling/model_version": (
        miles("rollout/weight_version/{mean,median=p50,max,min}", note="the oldest version that wrote the sample"),
    ),
    "async/partial_share": (miles("rollout/weight_version/mixed_version_ratio"),),
    "async/queue": (miles("perf/fully_async/queue_length", same=False, note="groups, not samples"),),
    "async/dropped_stale": (miles("perf/fully_async/stale_dropped", same=False, note="groups, not samples"),),
    "batch/groups": (miles("perf/fully_async/batch_n_groups"),),
    "samples/trained": (miles("perf/fully_async/batch_n_samples"),),
    "time/wait_rollout": (miles("perf/fully_async/batch_wait_time"),),
    "perf/mfu/policy": (miles("perf/actor_train_mfu"),),
}
