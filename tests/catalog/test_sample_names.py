"""Every key about samples that the frameworks log resolves, with its dialect, to an entry.

A key of another quantity has a note that says how it differs.
"""

from __future__ import annotations

import pytest

from rollscope.catalog.names.resolve import resolve

from .not_matched import samples as not_matched

STATS = ("mean", "std", "min", "max")


def _each(pattern: str, words: tuple[str, ...]) -> list[str]:
    return [pattern.format(word) for word in words]


KEYS: dict[str, list[str]] = {
    "verl": [
        *(f"critic/{what}/{stat}" for what in ("score", "rewards") for stat in ("mean", "max", "min")),
        *(
            f"{what}/{stat}"
            for what in ("response_length", "response_length_non_aborted", "prompt_length")
            for stat in ("mean", "max", "min", "clip_ratio")
        ),
        *(
            f"{what}/{stat}"
            for what in ("num_turns", "tool_call_counts", "training/num_turns")
            for stat in ("mean", "max", "min")
        ),
        "response/aborted_ratio",
        *(
            f"timing_s/agent_loop/{what}/{stat}"
            for what in ("generate_sequences", "tool_calls", "num_preempted", "compute_score")
            for stat in ("mean", "max", "min")
        ),
        *_each(
            "timing_s/agent_loop/slowest/{}",
            ("generate_sequences", "tool_calls", "prompt_length", "response_length", "num_preempted", "compute_score"),
        ),
        *(
            f"training/off_policy/{what}/{stat}"
            for what in ("trajectory_spans", "trajectory_staleness", "trajectory_staleness_worst")
            for stat in ("mean", "max", "min")
        ),
        *_each("gdpo/format/{}", STATS),
    ],
    "openrlhf": [
        *(
            "reward",
            "score",
            "return",
            "group_reward_std",
            "response_length",
            "total_length",
            "truncated",
            "response_clip_ratio",
            "dynamic_filtering_pass_rate",
        ),
        *_each("rollout/{}", ("reward_mean", "reward_std", "response_length_mean", "truncated_rate", "num_samples")),
    ],
    "trl:grpo": [
        *(
            "num_tokens",
            "reward",
            "reward_std",
            "frac_reward_zero_std",
            "rewards/my_function/mean",
            "rewards/my_function/std",
        ),
        *_each(
            "completions/{}",
            (
                "mean_length",
                "min_length",
                "max_length",
                "clipped_ratio",
                "mean_terminated_length",
                "min_terminated_length",
                "max_terminated_length",
            ),
        ),
        *("tools/call_frequency", "tools/failure_frequency"),
    ],
    "trl:rloo": [
        "num_tokens",
        "reward",
        "reward_std",
        "frac_reward_zero_std",
        "rewards/f/mean",
        "rewards/f/std",
        "completions/mean_length",
        "completions/clipped_ratio",
    ],
    "trl:ppo": ["objective/scores", "objective/rlhf_reward", "val/num_eos_tokens", "episode"],
    "trl:online_dpo": ["objective/scores", "val/contain_eos_token"],
    "trl:async_grpo": [
        *(
            "reward",
            "reward_std",
            "rewards/f",
            "tools/call_frequency",
            "tools/failure_frequency",
            "completions/mean_length",
            "completions/clipped_ratio",
        ),
        *_each(
            "tools/{}",
            (
                "loop_exhausted_frac",
                "search/call_total",
                "search/failure_total",
                "unknown_name_total",
                "latency_s",
                "search/latency_s",
                "parallel_calls_mean",
            ),
        ),
        *(
            "sample/staleness_mean",
            "sample/staleness_max",
            "rollout/turns_mean",
            "env/reward_s",
            "batch/samples_per_step",
        ),
    ],
    "trl:sdpo": [
        *_each(
            "self_distillation/{}",
            (
                "reward_mean",
                "reward_std",
                "reward_min",
                "reward_max",
                "group_reward_std_mean",
                "flat_group_fraction",
                "rewards/f",
            ),
        ),
        *("self_distillation/success_group_fraction", "self_distillation/success_sample_fraction"),
    ],
    "rlinf": [
        *_each(
            "rollout/{}",
            (
                "total_num_sequence",
                "prompt_length",
                "response_length",
                "average_response_length",
                "variance_of_response_length",
            ),
        ),
        *_each(
            "rollout/{}",
            (
                "max_of_response_length",
                "min_of_response_length",
                "total_length",
                "reward_scores",
                "fraction_of_samples_properly_ended",
            ),
        ),
        *_each(
            "rollout/{}",
            (
                "reward_scores_traj",
                "reward_scores_turn",
                "avg_turns_per_traj",
                "max_prompt_length",
                "max_response_length",
                "max_total_length",
                "data_staleness_3/ratio",
            ),
        ),
        *_each(
            "agent/{}",
            (
                "mean/reward",
                "count/n_rollouts",
                "count/n_rollouts_w_trace",
                "count/n_rollouts_w_reward",
                "sum/turn_count",
                "mean/turn_count_per_rollout",
            ),
        ),
        *_each(
            "agent/{}",
            (
                "p90/prompt_length",
                "p90/response_length",
                "mean_top10p/total_length",
                "sum/total_tool_calls",
                "mean/tool_calls_per_rollout",
                "mean/tool_calls_per_turn",
            ),
        ),
    ],
    "trinity": [
        *(
            f"{what}/{stat}"
            for what in (
                "rollout/accuracy",
                "rollout/format_score",
                "rollout/time/run_execution",
                "rollout/time/task_execution",
            )
            for stat in ("mean", "max", "min")
        ),
        *(
            f"{what}/{stat}"
            for what in ("response_length", "prompt_length")
            for stat in ("mean", "max", "min", "clip_ratio")
        ),
        *(f"critic/{what}/{stat}" for what in ("score", "rewards") for stat in ("mean", "max", "min")),
        *_each(
            "experience_pipeline/{}",
            (
                "experience_count",
                "filtered_count",
                "skipped_group_ratio",
                "reward_diff/mean",
                "selection/valid_ratio",
                "selection/<15_16_ratio",
            ),
        ),
        *(
            f"experience_pipeline/group_advantages/{what}/{stat}"
            for what in ("reward_mean", "reward_std", "drop_balance")
            for stat in ("mean", "max", "min")
        ),
        *_each("time/experience_pipeline/{}", ("operator/0_RewardFilter", "write", "total")),
        *(
            "time/dj_process_experience",
            "sample/model_version/mean",
            "sample/model_version/max",
            "sample/model_version/min",
            "sample/task_count",
        ),
    ],
    "telescope": [
        *(
            f"{scope}{what}_{stat}"
            for scope in ("", "discarded_")
            for what in (
                "reward_sum",
                "advantage",
                "length_completion",
                "length_prompt",
                "length_sum",
                "reward_correct",
            )
            for stat in STATS
        ),
        *(
            f"{scope}{what}"
            for scope in ("", "discarded_")
            for what in (
                "reward_gini_mean",
                "reward_correct_gini_mean",
                "group_length_gini_mean",
                "group_length_max_median_ratio_mean",
            )
        ),
        *(
            "group_length_cv_mean",
            "stop_reason_length_pct",
            "off_policy_steps_mean",
            "off_policy_steps_std",
            "discarded_count",
            "canceled_count",
            "rollout/reward_mean",
        ),
        *_each(
            "discarded_{}",
            (
                "zero_advantage_pct",
                "max_async_pct",
                "zero_advantage_all_zero_pct",
                "zero_advantage_all_positive_pct",
                "zero_advantage_mean_reward",
            ),
        ),
        *_each("filter/{}_frac", ("overlong", "gibberish", "repetition")),
        *(
            "total_tool_calls",
            "tool_success_count",
            "tool_error_count",
            "tool_success_rate",
            "unique_tools_used",
            "search_calls",
            "search_error_rate",
        ),
        *("timing_avg_inference_time", "timing_avg_compute_reward_time"),
    ],
}


@pytest.mark.parametrize("dialect, key", [(dialect, key) for dialect, keys in KEYS.items() for key in keys])
def test_a_logged_key_resolves(dialect: str, key: str) -> None:
    match = resolve(key, dialect)
    assert match.via is not None and match.via.framework == dialect.partition(":")[0]
    assert match.same or match.via.note


@pytest.mark.parametrize(
    "dialect, key", [(d, k) for d, keys in not_matched.ALL.items() for k in keys if "(" not in k and "custom" not in k]
)
def test_keys_that_are_not_matched_have_a_note(dialect: str, key: str) -> None:
    match = resolve(key.replace("{component}", "f").replace("{age}", "3").replace("{mean,min,max}", "mean"), dialect)
    notes = [name.note for name in match.entry.names if name.framework == dialect]
    assert any(notes), key
