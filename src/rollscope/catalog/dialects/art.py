"""ART: what its models write into history.jsonl and W&B."""

from __future__ import annotations

from functools import partial

from rollscope.catalog.spec import Name

art = partial(Name, "art")

NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/grad_norm": (art("loss/grad_norm"),),
    "optimiser/lr": (art("loss/learning_rate"),),
    "policy/loss/configured": (art("loss/train"),),
    "policy/entropy": (art("loss/entropy", note="tokens are weighted as in the loss"),),
    "policy/kl_ref_k1": (art("loss/kl_policy_ref"),),
    "policy/kl_loss": (art("loss/kl_div", same=False, note="the backend that trains defines it"),),
    "reward": (art("train/reward", stat="mean", scope="generated"),),
    "group/reward_std/mean": (art("train/reward_std_dev"),),
    "stop/{reason}": (
        art("train/exception_rate", same=False, note="the share of rollouts that raised, which leave no sample"),
    ),
    "staleness": (art("train/steps_off_policy", stat="mean"),),
    "discarded/groups/stale": (art("train/discarded_stale_groups", same=False, note="so far, not of this step"),),
    "eval/{set}/{score}/mean@{k}": (
        art("val/reward", same=False, note="the mean reward of the evaluated rollouts; the key has no set and no k"),
    ),
    "eval/{set}/failed/share": (
        art("val/exception_rate", same=False, note="the share of rollouts that raised; the key has no set"),
    ),
    "samples/generated": (art("data/step_num_trajectories"),),
    "batch/groups": (art("data/step_num_groups_trainable"),),
    "batch/trained_tokens": (art("data/step_trainer_tokens"),),
    "perf/tokens_per_second/generated": (
        art("throughput/avg_actor_tok_per_s", same=False, note="an average over the whole run"),
    ),
    "training/step": (art("training_step"),),
    "perf/run_seconds": (art("time/wall_clock_sec"),),
    "time/step": (art("time/step_wall_s"),),
    "time/rollout": (art("time/step_actor_s"),),
    "time/train_step": (art("time/step_trainer_s"),),
    "time/evaluate": (art("time/step_eval_s"),),
    "time/waiting_for_data": (art("throughput/step_trainer_idle_s"),),
}
