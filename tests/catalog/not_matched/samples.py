"""Keys about samples that `rename` does not write.

Each has the reason, which is also in the note of its entry.
"""

from __future__ import annotations

VERL = {
    "num_turns/mean": "counts messages of both sides plus one; written only when a batch "
    "gives conversation_turns, never from policy generations",
    "num_turns/max": "as num_turns/mean",
    "num_turns/min": "as num_turns/mean",
    "response_length/clip_ratio": "compares with the padded width; written only when a batch gives "
    "padded_response_tokens, never from the truncated share",
    "prompt_length/clip_ratio": "compares with the padded width; written only when a batch gives padded_prompt_tokens",
    "gdpo/{component}/std": "ddof 0 there, ddof 1 here",
}
TRL = {
    "custom/frac_has_digit": "a user's own key, passed to log_metric inside a "
    "reward function; it has no definition to match",
    "completions/{mean,min,max}_terminated_length": "0.0 there when no completion ended; no "
    "data (NaN) here. Written otherwise",
    "reward_std (async_grpo)": "a group's deviation with ddof 0",
    "val/num_eos_tokens": "a count of one process only",
    "self_distillation/success_sample_fraction": "a threshold of the trainer's own",
    "self_distillation/success_group_fraction": "a threshold of the trainer's own",
}
TRINITY = {
    "experience_pipeline/filtered_count": "the last filter's count replaces the others'",
    "time/experience_pipeline/total": "includes writing to the buffer",
    "response_length/clip_ratio": "compares with the longest sample of the batch; written "
    "only when a batch gives padded_response_tokens",
}
OPENRLHF = {
    "dynamic_filtering_pass_rate": "responses over prompts in percent: n_samples times too large in 0.11",
}
RLINF = {
    "rollout/reward_scores_turn": "a trajectory counts once per turn",
    "rollout/data_staleness_{age}/ratio": "a share of cells, not of samples",
    "agent/p90/response_length": "90th percentile; p50 and p95 are kept here",
    "agent/mean_top10p/response_length": "mean of the longest tenth cannot be merged from parts",
}
TELESCOPE = {
    "length_prompt_mean": "one row per group, raw user text without template",
    "off_policy_steps_mean": "updates while the request was in flight only",
    "canceled_count": "always 0: it counts an event that is never written",
    "tool_success_rate": "a share per sample, 0 without calls, then averaged",
}
ALL = {"verl": VERL, "trl": TRL, "trinity": TRINITY, "openrlhf": OPENRLHF, "rlinf": RLINF, "telescope": TELESCOPE}
