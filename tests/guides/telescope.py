"""The metrics page of Telescope: step and sample metrics, ranges, rollouts, discards, times."""

from __future__ import annotations

import math

import numpy as np

from rollscope.trainer.environment import State, Task, Turn
from rollscope.trainer.environments.calculator import Calculator
from rollscope.views.metric_info import name_list

from .checks import (
    Check,
    alarm,
    computes,
    corrected,
    declared,
    differs,
    every,
    explains,
    in_unit,
    ours,
    page,
    says,
    sectioned,
    times,
    value,
)
from .conftest import Recorded

T = "telescope"


def range_of(name: str, expected: tuple[float | None, float | None], origin: str) -> Check:
    def check(recorded: Recorded) -> None:
        (info,) = [one for one in name_list(recorded.runs["grpo"])["names"] if one["name"] == name]
        assert (tuple(info["range"]), info["range_from"]) == (expected, origin)

    return check


def tool_metrics(recorded: Recorded) -> None:
    calls = [Turn("tool", "{4}", tool="calc", ok=True), Turn("tool", "{error}", tool="neg", ok=False)]
    metrics = Calculator().get_tool_metrics(State(Task("1+3?"), [Turn("assistant", "x"), *calls]))
    assert metrics == {
        "total_tool_calls": 2,
        "tool_success_count": 1,
        "tool_error_count": 1,
        "tool_success_rate": 0.5,
        "unique_tools_used": 2,
        "calc_calls": 1,
        "neg_calls": 1,
    }


def discards_have_reasons(recorded: Recorded) -> None:
    rows = recorded.runs["grpo"].samples(where="NOT trained AND split = 'train'", columns=["discard_reason"])
    assert set(rows["discard_reason"]) == {"zero_advantage"}


def sinks_get_step_metrics(recorded: Recorded) -> None:
    text = recorded.jsonl()
    assert all(f'"{name}"' in text for name in ("policy/entropy", "optimiser/grad_norm", "optimiser/lr"))


def facts_are_kept(recorded: Recorded) -> None:
    rows = recorded.runs["grpo"].samples(where="env = 'calculator'", columns=["sample_metrics"])
    assert all(math.isfinite(row["accuracy"]) for row in rows["sample_metrics"] if row)


def completion_is_the_sum_over_turns(recorded: Recorded) -> None:
    rows = recorded.runs["grpo"].samples(where="env = 'calculator'", columns=["id", "completion_tokens", "turns"])
    many = np.flatnonzero(rows["turns"] > 1)
    turns = recorded.runs["grpo"].turns(str(rows["id"][many[0]]))
    written = [n for role, n in zip(turns["role"], turns["tokens"], strict=True) if role == "assistant"]
    assert sum(written) == rows["completion_tokens"][many[0]]


REWARDS = {"reward": [0.0, 0.0, 0.0, 1.0], "group": ["a"] * 4}
LENGTHS = {"completion_tokens": [2, 4, 4, 8], "group": ["a"] * 4}
STATS = ("mean", "std", "min", "max")
TIMES = (
    *("step_total", "forward_total", "backward_total", "loss_computation_total", "compute_kl_total"),
    *("compute_entropy_total", "data_to_device_total", "prepare_tensors_total", "waiting_for_data"),
    "weight_sync_inference_total",
)

ITEMS: list[tuple[str, Check]] = [
    (
        "custom/loss/auxiliary stands in section custom, group loss",
        sectioned("custom/loss/auxiliary", "custom", "loss", "auxiliary"),
    ),
    ("a key without / is in section general", sectioned("entropy", "general", "", "entropy")),
    ("a key with one / has a section and a metric", sectioned("loss/policy", "loss", "", "policy")),
    ("a key with two / has section, group and metric", sectioned("timing/forward/total", "timing", "forward", "total")),
    ("a further / stays in the metric", sectioned("timing/forward/total/max", "timing", "forward", "total/max")),
    (
        "train_step of a custom backend returns extra keys",
        page("backends.md", "def train_step(self, batch: Batch) -> dict[str, float]", "custom/weights/norm"),
    ),
    ("extra keys need no registration", page("backends.md", "nothing is registered")),
    (
        "compute_reward returns a RewardResult with sample_metrics",
        page("environments.md", "RewardResult", "sample_metrics"),
    ),
    (
        "sample metrics may be reward components",
        ours("reward_component/exact/generated/mean", "reward_component/in_place/generated/mean"),
    ),
    ("sample metrics may be the response length", ours("length/response/generated/mean")),
    ("sample metrics may be any number per sample", ours("sample_metric/in_place/generated/mean")),
    ("sample metrics may be tool call counts", ours("sample_metric/total_tool_calls/generated/mean")),
    ("sample metrics may be the time of computing the reward", ours("sample_time/reward/mean")),
    ("sample metrics may be anything, facts too", facts_are_kept),
    *(
        (f"sample metrics are aggregated per step: {stat}", ours(f"sample_metric/accuracy/generated/{stat}"))
        for stat in STATS
    ),
    ("a Gini coefficient of every sample metric per prompt group", ours("group/sample_metric_gini/accuracy/generated")),
    ("Gini measures how concentrated values are", computes("group/reward_gini", REWARDS, 0.75)),
    (
        "tool metrics are merged into sample metrics",
        every(ours("sample_metric/tool_success_rate/generated/mean"), tool_metrics),
    ),
    ("get_tool_metrics(state) returns tool usage", tool_metrics),
    ("reward_min of an environment", declared("sorting", "reward_min", 0.0)),
    ("reward_max of an environment", declared("calculator", "reward_max", 1.0)),
    (
        "metrics_ranges of an environment",
        declared("sorting", "metrics_ranges", {"accuracy": [0.0, 1.0], "in_place": [0.0, 1.0]}),
    ),
    ("declared ranges do not affect training", page("environments.md", "They do not affect training")),
    (
        "a chart of rewards is normalised to the declared range",
        range_of("reward/generated/mean", (0.0, 1.0), "declared"),
    ),
    (
        "a chart of a sample metric is normalised to its declared range",
        range_of("sample_metric/in_place/generated/mean", (0.0, 1.0), "declared"),
    ),
    ("without a declaration the observed range is used", range_of("policy/loss_total", (None, None), "observed")),
    (
        "environments with rewards of different scale",
        every(declared("sorting", "reward_max", 1.0), page("environments.md", "Several environments at once")),
    ),
    ("declared ranges also scale line charts, not only colours", corrected("Declared ranges normalise the charts.")),
    ("step metric entropy", value(T, "entropy")),
    ("entropy is over masked token positions", says("policy/entropy", "action_mask")),
    ("step metric kl_divergence_inference", value(T, "kl_divergence_inference")),
    (
        "kl_divergence_inference is between the current policy and the rollout policy",
        says("kl_divergence_inference", "rollout", dialect=T),
    ),
    ("step metric grad_norm", value(T, "grad_norm")),
    ("grad_norm is averaged over minibatches", explains("grad_norm", "optimiser/grad_norm", T)),
    ("step metric learning_rate", value(T, "learning_rate")),
    ("step metrics merge over ranks", corrected("Step metrics are those of the training step.")),
    ("total reward comes from RewardResult.total_reward", page("environments.md", "total_reward")),
    *((f"reward statistics per step: {stat}", value(T, f"reward_sum_{stat}")) for stat in STATS),
    (
        "reward statistics are over all samples of the step",
        every(ours("reward/generated/mean"), corrected("Reward statistics are over all samples of a step.")),
    ),
    ("Gini of the reward per group, averaged", value(T, "reward_gini_mean")),
    ("Gini 0: all samples got the same reward", computes("group/reward_gini", REWARDS | {"reward": [1.0] * 4}, 0.0)),
    (
        "Gini near 1: extreme concentration",
        every(computes("group/reward_gini", REWARDS, 0.75), corrected("Gini runs from 0 to 1.")),
    ),
    *((f"advantage statistics per step: {stat}", value(T, f"advantage_{stat}")) for stat in STATS),
    ("how advantages are normalised depends on the algorithm", page("algorithms.md", "advantage_normalisation")),
    *(
        (
            f"tokens of the prompt: {stat}",
            every(ours(f"length/prompt/generated/{stat}"), differs(T, f"length_prompt_{stat}")),
        )
        for stat in STATS
    ),
    *((f"tokens of the completion: {stat}", value(T, f"length_completion_{stat}")) for stat in STATS),
    *((f"tokens in total: {stat}", value(T, f"length_sum_{stat}")) for stat in STATS),
    ("completion tokens are summed across turns", completion_is_the_sum_over_turns),
    (
        "stop_reason_length_pct",
        every(
            value(T, "stop_reason_length_pct"),
            in_unit("%", T, "stop_reason_length_pct"),
            times("grpo", "stop_reason_length_pct", 100.0, "length/truncated/trained"),
        ),
    ),
    (
        "stop_reason_length_pct is the share that hit the length limit",
        computes("length/truncated", {"stop_reason": ["length", "stop"], "completion_tokens": [8, 3]}, 0.5),
    ),
    (
        "a high stop_reason_length_pct: the limit may be too low",
        every(says("length/truncated", "max"), alarm("length/truncated", "above", 0.25)),
    ),
    ("group_length_gini_mean", value(T, "group_length_gini_mean")),
    (
        "group_length_gini_mean is within groups, averaged",
        computes("group/length_gini", LENGTHS | {"completion_tokens": [4] * 4}, 0.0),
    ),
    ("group_length_max_median_ratio_mean", value(T, "group_length_max_median_ratio_mean")),
    ("max/median of completion lengths", computes("group/length_max_median", LENGTHS, 2.0)),
    (
        "a max/median close to 1: roughly equal lengths",
        computes("group/length_max_median", LENGTHS | {"completion_tokens": [5] * 4}, 1.0),
    ),
    ("metrics of discarded rollouts", ours("discarded/share", "discarded/reward/mean")),
    ("discard reason max_async, by max_off_policy_steps", page("algorithms.md", "max_off_policy_steps", "max_async")),
    ("discard reason zero_advantage", discards_have_reasons),
    (
        "zero_advantage is controlled by discard_group_zero_advantage",
        page("algorithms.md", "discard_group_zero_advantage"),
    ),
    *((f"timing_{name}", value(T, f"timing_{name}")) for name in TIMES),
    ("timing_step_active excludes waiting for data", differs(T, "timing_step_active")),
    ("timing_weight_sync_trainer_total", differs(T, "timing_weight_sync_trainer_total")),
    ("timing_forward_microbatch_mean", value(T, "timing_forward_microbatch_mean")),
    ("the first step is slower", says("time/step", "first")),
    ("times are in seconds", in_unit("s", T, *(f"timing_{name}" for name in TIMES))),
    ("step metrics are also logged to other trackers", sinks_get_step_metrics),
]
