"""ROLL: what its RLVR and agentic pipelines log. Its tracker cuts the `@sum` off a key."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollscope.catalog.spec import Name

roll = partial(Name, "roll")
_AGGREGATED = "aggregated by loss_agg_mode: ours only under token-mean"
_ROWS = "a mean over samples of each sample's token mean"


def _either(key: str, tag: str = "sum", **more: Any) -> tuple[Name, ...]:
    """The key as a tracker gets it, and with the reduction that console and older runs keep."""
    return roll(key, **more), roll(f"{key}@{tag}", **more)


NAMES: dict[str, tuple[Name, ...]] = {
    "optimiser/lr": (roll("actor/lr"),),
    "optimiser/grad_norm": (roll("actor_train/grad_norm"),),
    "critic/lr": (roll("critic/lr"),),
    "critic/grad_norm": (roll("critic/grad_norm"),),
    "policy/loss_total": _either("actor/total_loss"),
    "policy/loss/configured": _either("actor/pg_loss"),
    "policy/kl_loss_aggregated": _either("actor/kl_loss"),
    "policy/kl_update_k3": _either("actor/approxkl", same=False, note=_AGGREGATED),
    "policy/kl_update_k1": _either("actor/policykl", same=False, note=_AGGREGATED),
    "policy/clip/region": _either("actor/clipfrac", same=False, note=_AGGREGATED),
    "policy/ratio/outside": _either(
        "actor/ppo_ratio_clipfrac", same=False, note=f"whatever the advantage; {_AGGREGATED}"
    ),
    "policy/clip/high": _either("actor/ppo_ratio_high_clipfrac", same=False, note="whatever the advantage"),
    "policy/clip/low": _either("actor/ppo_ratio_low_clipfrac", same=False, note="whatever the advantage"),
    "policy/ratio": (
        *_either("actor/ratio_mean", stat="mean", same=False, note=_ROWS),
        *_either("actor/ratio_max", "max", stat="max"),
        *_either("actor/ratio_min", "min", stat="min"),
    ),
    "policy/entropy_aggregated": (roll("critic/entropy/mean"),),
    "policy/reward_kl_penalty": (roll("critic/kl"),),
    "policy/kl_coef": (roll("critic/kl_coef"),),
    "mismatch/log_ppl_trainer": (
        roll("critic/old_log_prob/mean", scale=-1.0, same=False, note="aggregated as the loss is"),
    ),
    "mismatch/weight_high": _either("actor/tis_upper_clipfrac", same=False, note=_AGGREGATED),
    "mismatch/weight_low": _either("actor/tis_lower_clipfrac", same=False, note=_AGGREGATED),
    "critic/loss_configured": _either("critic/loss"),
    "critic/clip": _either("critic/clipfrac", same=False, note=_AGGREGATED),
    "critic/predictions": _either("critic/vpred", stat="mean", same=False, note=_ROWS),
    "samples/trained": (*_either("actor/valid_samples"), roll("actor/samples_used")),
    "samples/generated": (*_either("actor/total_samples"), roll("actor/samples_total")),
    "score": (roll("critic/score/{mean,max,min}"), roll("rollout/score/{mean,max,min}", scope="generated")),
    "reward": (roll("critic/rewards/{mean,max,min}"),),
    "advantage": (roll("critic/advantages/{mean,max,min}"),),
    "critic/returns": (roll("critic/returns/{mean,max,min}"),),
    "critic/values": (roll("critic/values/{mean,max,min}"),),
    "length/completion": (
        roll("tokens/response_length/{mean,max,min}"),
        roll("token/response_length/{mean,max,min}"),
        roll("rollout/response_length/{mean,max,min}", scope="generated"),
    ),
    "length/response": (
        roll("tokens/non_prompt_length/{mean,max,min}"),
        roll("rollout/non_prompt_length/{mean,max,min}", scope="generated"),
    ),
    "length/prompt": (
        roll("tokens/prompt_length/{mean,max,min}"),
        roll("token/prompt_length/{mean,max,min}"),
        roll("rollout/prompt_length/{mean,max,min}", scope="generated"),
    ),
    "length/total": (roll("token/total_length/{mean,max,min}"),),
    "length/at_width/response": (roll("token/total_response_length/clip"),),
    "reward/passed": (roll("critic/correct/mean", note="the highest score of the step counts as right"),),
    "group/all_pass": (roll("group/all_correct_groups_ratio"),),
    "group/all_fail": (roll("group/all_incorrect_groups_ratio"),),
    "group/mixed": (roll("group/mixed_groups_ratio"),),
    "eval/{set}/{score}/mean@{k}": (
        roll("val_correct/{set}/mean", same=False, note="the share of samples whose score is 1; `all` is every set"),
        roll("val/score/mean", same=False, note="the mean score over all environments; the key has no k"),
        roll("val/{set}/score/mean", same=False, note="the mean score of an environment's episodes; the key has no k"),
    ),
    "counter/samples": (roll("system/samples"),),
    "training/step": (roll("system/step"),),
    "perf/tokens_per_second/run": (roll("system/tps"),),
    "time/step": (roll("time/step_total"),),
    "time/generate": (roll("time/step_generate"),),
    "time/rollout": (roll("time/step_rollout"),),
    "time/update_policy": (roll("time/step_train"),),
    "time/sync_weights": (roll("time/step_model_update"),),
    "time/evaluate": (roll("time/val_step"), roll("time/step_val")),
    "time/old_logp": (roll("time/old_log_probs"), roll("time/step_old_log_probs_values")),
    "time/ref_logp": (roll("time/ref_log_probs_values"), roll("time/step_ref_log_probs_values_reward")),
    "time/advantage": (roll("time/compute_advantage"), roll("time/step_adv")),
}
