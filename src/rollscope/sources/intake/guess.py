"""Which framework wrote these names: a tracker's file does not say, but the names do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (  # dialect, names of which all must be there; the first that fits
    ("trinity", ("sample/model_version/mean",)),
    ("trinity", ("rollout/finished_task_count",)),
    ("trinity", ("experience_pipeline/experience_count",)),
    ("rlinf", ("train/actor/policy_loss",)),
    ("rlinf", ("actor/training/actor/policy_loss",)),
    ("rlinf", ("env/success_once",)),
    ("rlinf", ("eval/success_once",)),
    ("rlinf", ("train/sac/critic_loss",)),
    ("telescope", ("kl_divergence_inference",)),
    ("openrlhf:ppo", ("train/actor_lr",)),
    ("openrlhf:dpo", ("train/chosen_reward", "train/acc")),
    ("openrlhf:sft", ("train/gpt_loss",)),
    ("verl", ("actor/pg_loss",)),
    ("verl", ("critic/score/mean",)),
    ("verl", ("timing_s/step",)),
    ("verl", ("training/global_step",)),
    ("trl:ppo", ("objective/rlhf_reward", "policy/approxkl_avg")),
    ("trl:online_dpo", ("objective/rlhf_reward",)),
    ("trl:grpo", ("completions/mean_length", "frac_reward_zero_std")),
    ("trl:kto", ("rewards/chosen", "logps/chosen", "kl")),
    ("trl:dpo", ("rewards/margins", "logps/chosen")),
    ("trl:reward", ("min_reward", "margin")),
    ("trl:sft", ("mean_token_accuracy", "num_tokens")),
)


def framework(names: Iterable[str], config: Mapping[str, Any] | None = None) -> str | None:
    """The dialect, with the version where the configuration tells; None when nothing fits."""
    have = set(names)
    have |= {
        name.removeprefix("train/") for name in have if name.startswith("train/")
    }  # what Hugging Face writes to trackers
    for dialect, marks in MARKS:
        if have.issuperset(marks):
            return _rloo(dialect, config or {})
    return None


def _rloo(dialect: str, config: Mapping[str, Any]) -> str:
    """RLOO logs GRPO's names; its configuration has no `epsilon_high` and no `scale_rewards`."""
    if (
        dialect == "trl:grpo"
        and "num_generations" in config
        and "normalize_advantages" in config
        and "scale_rewards" not in config
    ):
        return "trl:rloo"
    return dialect


def algorithm(dialect: str | None, config: Mapping[str, Any] | None = None) -> str | None:
    if dialect and ":" in dialect:
        return dialect.partition(":")[2].partition("@")[0]
    found: Any = config or {}
    for key in ("algorithm", "adv_estimator"):
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, str) else None
