"""The metrics reference of Trinity-RFT: naming, levels, evaluation, time, pipeline."""

from __future__ import annotations

import pytest

import rollscope as rs
from rollscope.catalog.names.resolve import resolve

from .checks import Check, computes, corrected, evaluates, every, explains, in_unit, ours, value
from .conftest import Recorded

T = "trinity"
ACCURACIES = {"task 1": (0.8, 0.9), "task 2": (0.6, 0.9), "task 3": (0.95, 0.85)}
ROWS = [
    {"task": task, "repeat": i, "scores": {"accuracy": x}}
    for task, runs in ACCURACIES.items()
    for i, x in enumerate(runs)
]
FLAT = [x for runs in ACCURACIES.values() for x in runs]
TASKS = [task for task in ACCURACIES for _ in range(2)]
ROLLOUT = {"reward": FLAT, "sample_metrics": {"accuracy": FLAT}, "task": TASKS, "group": TASKS, "repeat": [0, 1] * 3}
SEVERAL = [  # the first run has two experiences: they are averaged within the run first
    {"task": "q", "repeat": 0, "scores": {"accuracy": 1.0}},
    {"task": "q", "repeat": 0, "scores": {"accuracy": 0.0}},
    {"task": "q", "repeat": 1, "scores": {"accuracy": 1.0}},
]
PIPELINE = {"operators": [{"name": "filter", "in": 6, "out": 4, "seconds": 0.5}]}
E = "eval/dummy/accuracy"


def renamed(name: str, batch: dict, expected: float) -> Check:
    """The framework's name has this value for a batch."""

    def check(recorded: Recorded) -> None:
        assert rs.rename(rs.compute(batch), T)[name] == pytest.approx(expected, abs=0.006)

    return check


def _tokens(n: int) -> dict[str, list[int]]:
    """A batch of 50 tokens, n times."""
    return {"prompt_tokens": [10] * n, "response_tokens": [40] * n}


def has_section(name: str, section: str) -> Check:
    def check(recorded: Recorded) -> None:
        assert resolve(name, T).entry.name.split("/")[0] == section

    return check


def bench_is_eval_with_another_prefix(recorded: Recorded) -> None:
    plain, bench = (rs.evaluate(ROWS, "dummy", prefix=prefix) for prefix in ("eval", "bench"))
    assert {name.replace("eval/", "bench/", 1): x.value for name, x in plain.items()} == pytest.approx(
        {name: x.value for name, x in bench.items()}, nan_ok=True
    )


def details_only_where_asked(recorded: Recorded) -> None:
    assert f"{E}/mean@2/std" not in rs.evaluate(ROWS, "dummy") and f"{E}/mean@2/std" in rs.evaluate(
        ROWS, "dummy", detailed=True
    )


ITEMS: list[tuple[str, Check]] = [
    ("names are category / taskset / metric / statistic", value(T, "eval/sorting-eval/acc/mean@2")),
    ("category rollout", value(T, "rollout/accuracy/mean")),
    ("category eval", value(T, "eval/sorting-eval/acc/mean@2")),
    ("category time", value(T, "time/eval")),
    ("category actor", explains("actor/grad_norm", "optimiser/grad_norm", T)),
    ("category critic", has_section("critic/score/mean", "score")),
    ("the taskset's name is in eval metrics", value(T, "eval/calculator-eval/acc/mean@2")),
    *((f"statistic {stat}", ours(f"reward/generated/{stat}")) for stat in ("mean", "max", "min", "std")),
    ("rollout/accuracy/mean", value(T, "rollout/accuracy/mean")),
    ("rollout/accuracy/max", value(T, "rollout/accuracy/max")),
    ("rollout/accuracy/min", value(T, "rollout/accuracy/min")),
    ("rollout/format_score/mean: any score of the workflow", value(T, "rollout/in_place/mean")),
    ("rollouts, task level: the mean over the runs of a task", renamed("rollout/accuracy/max", ROLLOUT, 0.9)),
    ("rollouts, step level mean over tasks is 0.83", renamed("rollout/accuracy/mean", ROLLOUT, 0.83)),
    ("rollouts, step level max over tasks is 0.9", renamed("rollout/accuracy/max", ROLLOUT, 0.9)),
    ("rollouts, step level min over tasks is 0.75", renamed("rollout/accuracy/min", ROLLOUT, 0.75)),
    ("run level: several experiences of a run are averaged first", evaluates(SEVERAL, {f"{E}/mean@2": 0.75})),
    ("eval/{task}/{metric}/{statistic}", value(T, "eval/sorting-eval/acc/mean@2")),
    ("eval/gsm8k-eval/accuracy/mean@4", explains("eval/gsm8k-eval/accuracy/mean@4", "eval/{set}/{score}/mean@{k}", T)),
    (
        "bench/gsm8k-eval/accuracy/best@4",
        explains("bench/gsm8k-eval/accuracy/best@4", "bench/{set}/{score}/best_boot@{k}", T),
    ),
    ("bench metrics are computed as eval metrics", bench_is_eval_with_another_prefix),
    ("best@4 is a bootstrap in the code", corrected("best@4 is the best accuracy across 4 runs.")),
    ("without detailed_stats only the plain keys", details_only_where_asked),
    ("mean@2 over all tasks is 0.83", evaluates(ROWS, {f"{E}/mean@2": 0.83})),
    ("std@2 over all tasks is 0.083", evaluates(ROWS, {f"{E}/std@2": 0.083})),
    ("std@2 is the mean of the spreads within tasks", corrected("std@2 at step level is the spread over all tasks.")),
    ("mean@2 of one task is 0.85", evaluates(ROWS[:2], {f"{E}/mean@2": 0.85})),
    ("std@2 of task 1 is 0.05", evaluates(ROWS[:2], {f"{E}/std@2": 0.05})),
    ("std@2 of task 2 is 0.15", evaluates(ROWS[2:4], {f"{E}/std@2": 0.15})),
    ("std@2 of task 3 is 0.05", evaluates(ROWS[4:], {f"{E}/std@2": 0.05})),
    ("best@2 of the evaluation", value(T, "eval/sorting-eval/acc/best@2")),
    ("worst@2 of the evaluation", value(T, "eval/sorting-eval/acc/worst@2")),
    ("std@2 of the evaluation", value(T, "eval/sorting-eval/acc/std@2")),
    ("detailed: mean@2/mean is 0.83", evaluates(ROWS, {f"{E}/mean@2/mean": 0.83}, detailed=True)),
    (
        "detailed: mean@2/std is 0.062 with ddof 0",
        evaluates(ROWS, {f"{E}/mean@2/std0": 0.062, f"{E}/mean@2/std": 0.076}, detailed=True),
    ),
    ("detailed: mean@2/max is 0.9", evaluates(ROWS, {f"{E}/mean@2/max": 0.9}, detailed=True)),
    ("detailed: mean@2/min is 0.75", evaluates(ROWS, {f"{E}/mean@2/min": 0.75}, detailed=True)),
    ("detailed: std@2/mean is 0.083", evaluates(ROWS, {f"{E}/std@2/mean": 0.083}, detailed=True)),
    (
        "detailed: std@2/std is 0.047 with ddof 0",
        evaluates(ROWS, {f"{E}/std@2/std0": 0.047, f"{E}/std@2/std": 0.058}, detailed=True),
    ),
    ("detailed: std@2/max is 0.15", evaluates(ROWS, {f"{E}/std@2/max": 0.15}, detailed=True)),
    ("detailed: std@2/min is 0.05", evaluates(ROWS, {f"{E}/std@2/min": 0.05}, detailed=True)),
    ("the ddof of details", corrected("mean@2/std is 0.062 and std@2/std 0.047 in the diagram.")),
    (
        "details stand beside the plain keys",
        every(
            evaluates(ROWS, {f"{E}/mean@2": 0.83}, detailed=True),
            corrected("detailed_stats returns statistics in addition."),
        ),
    ),
    (
        "evaluation.detailed of the trainer",
        ours("eval/sorting-eval/acc/mean@2/std", "eval/calculator-eval/acc/mean@2/min"),
    ),
    ("time/eval", value(T, "time/eval")),
    ("time/wait_explore_step", value(T, "time/wait_explore_step")),
    ("times are seconds", in_unit("s", T, "time/eval", "time/wait_explore_step")),
    *(
        (
            f"timing_per_token_ms/{name}",
            every(value(T, f"timing_per_token_ms/{name}"), in_unit("ms/token", T, f"timing_per_token_ms/{name}")),
        )
        for name in ("update_actor", "update_critic", "adv", "values")
    ),
    (
        "per-token times are independent of the batch size",
        every(
            *(
                computes("time_per_token/update_policy", {"seconds": {"update_policy": n * 1.0}, **_tokens(n)}, 0.02)
                for n in (1, 4)
            )
        ),
    ),
    ("trainer metrics are adapted from veRL", corrected("Trainer metrics are adapted from veRL.")),
    *(
        (f"trainer metrics: {name}", explains(name, ours_, T))
        for name, ours_ in {
            "global_seqlen/mean": "balance/mean",
            "response_length/mean": "length/response",
            "prompt_length/mean": "length/prompt",
            "perf/total_num_tokens": "perf/tokens",
        }.items()
    ),
    ("experience_pipeline/experience_count", value(T, "experience_pipeline/experience_count")),
    ("experience_count is the number of experiences", computes("pipeline/out", PIPELINE, 4.0)),
    ("time/experience_pipeline of each operator", ours("pipeline/operator/0_drop_cancelled/seconds")),
    (
        "experience_pipeline/group_advantages/reward_mean/mean",
        value(T, "experience_pipeline/group_advantages/reward_mean/mean"),
    ),
    ("reward_mean/mean is the mean of the tasks' means", computes("task_reward/mean", ROLLOUT, 0.8333333)),
    (
        "four experiences with 0.8, 0.8, 0.9, 0.9 give 0.85",
        computes(
            "task_reward/mean",
            {"reward": [0.8, 0.8, 0.9, 0.9], "task": ["a", "a", "b", "b"], "group": ["a", "a", "b", "b"]},
            0.85,
        ),
    ),
    ("the diagram's key", corrected("The pipeline diagram ends in rollout/accuracy = 0.85.")),
    ("each metric counts one operator", corrected("Each pipeline metric is a count.")),
    ("sample/model_version/mean", value(T, "sample/model_version/mean")),
    ("sample/task_count", value(T, "sample/task_count")),
]
