"""Guess the framework that logged a set of names: a tracker's file does not record it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rollscope.catalog.names.spoken import spoken

MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (  # dialect, names that must all be present; the first match wins
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
    """The dialect these names belong to: by a mark, else the one that most names speak for."""
    logged = set(names)
    known = logged | {name.removeprefix("train/") for name in logged}  # Hugging Face adds `train/` for trackers
    for dialect, marks in MARKS:
        if known.issuperset(marks):
            return _or_rloo(dialect, config or {})
    dialect_spoken = spoken(logged, None, algorithm(None, config)).dialect
    return _or_rloo(dialect_spoken, config or {}) if dialect_spoken else None


def _or_rloo(dialect: str, config: Mapping[str, Any]) -> str:
    return "trl:rloo" if dialect == "trl:grpo" and _is_rloo(config) else dialect


def _is_rloo(config: Mapping[str, Any]) -> bool:
    """RLOO logs GRPO's names, but has no `epsilon_high` and no `scale_rewards` configured."""
    return "num_generations" in config and "normalize_advantages" in config and "scale_rewards" not in config


def algorithm(dialect: str | None, config: Mapping[str, Any] | None = None) -> str | None:
    """The trainer in the dialect (`trl:grpo`), or the setting `algorithm.adv_estimator`."""
    if dialect and ":" in dialect:
        return dialect.partition(":")[2].partition("@")[0]
    value: Any = config or {}
    for key in ("algorithm", "adv_estimator"):
        value = value.get(key, {}) if isinstance(value, Mapping) else {}
    return value if isinstance(value, str) else None


def origin(names: Iterable[str], config: Mapping[str, Any] | None = None) -> dict[str, str | None]:
    """The facts `framework` and `algorithm` of a run that logged these names."""
    dialect = framework(names, config)
    return {"framework": dialect, "algorithm": algorithm(dialect, config)}
