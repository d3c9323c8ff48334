"""The keys of a batch: their names, their levels and what they hold.

A level says which shapes a key accepts: `token` [B, T], `mask` [B, T] of 0/1, `logits` [B, T, V],
`sample` [B] or one number, `label` [B] of names, `table` name -> [B], `step` one number, `word` one
string, `object` any value that a family reads. A family declares a key of its own with `key(...)`,
beside the metric that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["token", "mask", "logits", "sample", "label", "table", "step", "word", "object"]
TOKEN_LEVELS = ("token", "mask", "logits")
SAMPLE_LEVELS = ("sample", "label", "table")

SHAPES: dict[str, str] = {
    "token": "numbers shaped [B, T], a list of B rows, or flat [N] with `lengths`",
    "mask": "0/1 shaped [B, T], a list of B rows, or flat [N] with `lengths`",
    "logits": "numbers shaped [B, T, V], a list of B arrays [T, V], or [N, V] with `lengths`",
    "sample": "one number per sample, shaped [B], or a single number",
    "label": "one name per sample, shaped [B], or a single name",
    "table": "a mapping from a name to numbers shaped [B]",
    "step": "a single number",
    "word": "a single word",
    "object": "any value",
}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a batch."""

    name: str
    level: Level
    what: str
    per_sample: bool = False  # a token key that may also be [B], once per sample


KEYS: dict[str, Key] = {}


def key(name: str, level: Level, what: str, *, per_sample: bool = False) -> None:
    """Declare a key. A second declaration is allowed if it is the same."""
    new = Key(name, level, what, per_sample)
    assert KEYS.get(name, new) == new, f"batch key {name!r} is declared twice with different meanings"
    KEYS[name] = new


_VOCABULARY: dict[Level, dict[str, str]] = {
    "mask": {
        "action_mask": "tokens the policy sampled",
        "mask": "tokens counted in the loss; a subset of action_mask, and action_mask if not given",
        "valid_mask": "every token after the prompt that is not padding, tool and environment text included",
    },
    "token": {
        "logp": "log-probability of the token under the current policy",
        "old_logp": "the same under the trainer's policy before the update",
        "rollout_logp": "the same as the inference engine reported it",
        "ref_logp": "the same under the reference model",
        "entropy": "entropy of the whole next-token distribution, nats",
        "returns": "value targets",
        "old_values": "the critic's values that made the advantages",
        "values": "the current critic's values",
        "token_rewards": "reward given at each token",
    },
    "logits": {"logits": "unnormalised scores over the vocabulary, before the division by temperature"},
    "sample": {
        "lengths": "tokens of each sample in the packed layout",
        "score": "score from the environment or the reward model",
        "reward": "reward after shaping, KL and penalties, which advantages are made from; the score if not given",
        "repeat": "number of the repeat of its task",
        "prompt_tokens": "tokens of the prompt",
        "completion_tokens": "tokens the policy sampled, over all turns",
        "response_tokens": "every token after the prompt, tool text included",
        "max_prompt_tokens": "limit at which a prompt is cut",
        "max_completion_tokens": "limit at which a completion is cut",
        "terminated": "1 if the sample reached its own end",
        "turns": "policy generations in the sample",
        "tool_calls": "tool calls made",
        "tool_failures": "tool calls that failed",
        "generate_seconds": "time spent generating",
        "tool_seconds": "time spent in tools",
        "reward_seconds": "time spent scoring",
        "policy_version_min": "oldest weights that wrote part of the sample",
        "policy_version_max": "newest weights that wrote part of the sample",
        "trained": "1 if the sample was in the loss",
        "chosen_logp": "summed log-probability of the chosen answer",
        "rejected_logp": "summed log-probability of the rejected answer",
        "ref_chosen_logp": "the same for chosen under the reference model",
        "ref_rejected_logp": "the same for rejected under the reference model",
        "chosen_score": "reward model's score of the chosen answer",
        "rejected_score": "reward model's score of the rejected answer",
        "success_once": "1 if the episode succeeded at any step",
        "success_at_end": "1 if the episode succeeded at its last step",
        "fail_once": "1 if the episode failed at any step",
        "episode_return": "sum of an episode's rewards",
        "episode_len": "steps of the episode",
        "intervened": "1 if a person took over",
    },
    "label": {
        "sample": "id of the sample, the same in every call that speaks of it",
        "task": "stable id of the prompt over the whole run",
        "group": "the samples of one prompt in one step, compared with each other",
        "env": "environment a sample comes from",
        "stop_reason": "stop, length, tool, max_turns, aborted, error, cancelled, or any other word",
        "discard_reason": "why a sample was discarded; empty if it was not",
    },
    "table": {"rewards": "reward component -> [B]", "sample_metrics": "name -> [B]"},
    "step": {
        "policy_version_now": "version of the weights before this update",
        "clip_low": "lower clip epsilon: the ratio is clipped at 1 - clip_low",
        "clip_high": "upper clip epsilon: the ratio is clipped at 1 + clip_high",
        "clip_c": "dual-clip bound on the ratio for negative advantages",
        "kl_coef": "weight of the KL term",
        "entropy_coef": "weight of the entropy bonus",
        "temperature": "sampling temperature",
        "lr": "learning rate",
        "grad_norm": "gradient norm before clipping",
        "loss": "the loss the trainer minimised",
        "gpus": "number of GPUs",
        "dp_size": "data-parallel ranks",
        "beta": "temperature of a preference loss",
    },
    "word": {
        "logp_level": "token, action or chunk: what one log-probability stands for",
        "ratio_level": "token or sequence: what one importance ratio stands for",
        "loss_agg": "how the trainer aggregates its loss",
        "gpu_name": "name of the GPU",
    },
    "object": {
        "seconds": "stage -> seconds",
        "model": "model configuration, for counting FLOPs",
        "partition": "sample indices of each data-parallel rank",
        "operators": "steps of the data pipeline: [{name, in, out, seconds}]",
    },
}

for _level, _words in _VOCABULARY.items():
    for _name, _what in _words.items():
        key(_name, _level, _what)
key("advantages", "token", "advantage of the token, or one per sample", per_sample=True)
