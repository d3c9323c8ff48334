"""Statistics of a step's samples, in whatever files and order the samples were written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.per_group import PerGroup
from rollscope.store.seal import compact, logs
from rollscope.views.steps import step_statistics


def samples(steps: int, seed: int = 0, size: int = 12) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    out = []
    for step in range(steps):
        for i in range(size):
            reward = float(rng.integers(0, 3))
            trained = bool(rng.random() < 0.7)
            out.append(
                {
                    "id": f"{seed}-{step}-{i}",
                    "step": step,
                    "group": f"g{step}-{i // 4}",
                    "task": f"t{i // 4}",
                    "env": "math" if i % 8 < 4 else "code",
                    "reward": reward,
                    "rewards": {"format": reward / 2},
                    "completion_tokens": int(rng.integers(1, 100)),
                    "stop_reason": "length" if i % 5 == 0 else "stop",
                    "trained": trained,
                    "discard_reason": None if trained else "zero_advantage",
                }
            )
    return out


def write(world: Any, rows: list[dict[str, Any]], writer: int = 1) -> Any:
    w = world.writer(writer)
    bounds = {"reward_min": 0, "reward_max": 2}
    w.rows("runs", [{"declared": {"environments": {"math": bounds, "code": bounds}}}])
    w.rows("samples", rows)
    return w


def at(statistics: dict[str, Any], name: str, step: int) -> float:
    series = statistics[name]
    return float(series["value"][series["step"].tolist().index(step)])


def test_generated_and_trained_stand_side_by_side(world: Any) -> None:
    rows = samples(3)
    write(world, rows)
    statistics = step_statistics(rs.open(world.root).run())
    here = [row for row in rows if row["step"] == 1]
    every, trained = [r["reward"] for r in here], [r["reward"] for r in here if r["trained"]]
    assert at(statistics, "reward/generated/mean", 1) == pytest.approx(np.mean(every))
    assert at(statistics, "reward/trained/mean", 1) == pytest.approx(np.mean(trained))
    assert at(statistics, "reward/generated/std", 1) == pytest.approx(np.std(every, ddof=1))
    assert at(statistics, "reward/generated/p95", 1) == pytest.approx(np.quantile(every, 0.95))
    assert at(statistics, "discarded/share", 1) == pytest.approx(1 - len(trained) / len(every))
    assert at(statistics, "discarded/reason/zero_advantage", 1) == pytest.approx(1 - len(trained) / len(every))
    assert at(statistics, "length/truncated", 1) == pytest.approx(3 / 12)
    assert "reward/mean" not in statistics


def test_without_a_fate_neither_word_is_used(world: Any) -> None:
    rows = [{k: v for k, v in row.items() if k not in ("trained", "discard_reason")} for row in samples(2)]
    write(world, rows)
    statistics = step_statistics(rs.open(world.root).run())
    assert "reward/mean" in statistics
    assert not [name for name in statistics if "generated" in name or "trained" in name or "discarded" in name]


def test_group_statistics_are_the_catalogues(world: Any) -> None:
    rows = samples(2)
    write(world, rows)
    statistics = step_statistics(rs.open(world.root).run())
    here = [row for row in rows if row["step"] == 1]
    reward, group = np.array([r["reward"] for r in here]), np.array([r["group"] for r in here])
    for outcome in ("zero_spread", "all_pass", "all_fail"):
        expected = PerGroup.of(outcome, reward, group, 0.0, 2.0).value
        assert at(statistics, f"group/{outcome}", 1) == pytest.approx(expected), outcome
    gini = PerGroup.of("gini", reward, group, 0.0, 2.0).value
    assert at(statistics, "group/reward_gini/generated", 1) == pytest.approx(gini)
    lengths = np.array([r["completion_tokens"] for r in here], float)
    length_gini = PerGroup.of("gini", lengths, group, 0.0).value
    assert at(statistics, "group/length_gini/generated", 1) == pytest.approx(length_gini)


def test_negative_rewards_without_a_declared_minimum_are_not_counted(world: Any) -> None:
    world.writer().rows(
        "samples",
        [{"id": f"s{i}", "step": 0, "group": f"g{i // 2}", "reward": [-1.0, 1.0, 0.0, 1.0][i]} for i in range(4)],
    )
    statistics = step_statistics(rs.open(world.root).run())
    assert at(statistics, "group/reward_gini", 0) == pytest.approx(0.5)
    assert at(statistics, "group/not_counted", 0) == 1
    assert math.isfinite(at(statistics, "group/zero_spread", 0))


def test_a_task_is_averaged_before_tasks_are(world: Any) -> None:
    world.writer().rows(
        "samples", [{"id": f"s{i}", "step": 0, "task": "a" if i < 3 else "b", "reward": float(i < 3)} for i in range(4)]
    )
    statistics = step_statistics(rs.open(world.root).run())
    assert (at(statistics, "task_reward/mean", 0), at(statistics, "reward/mean", 0)) == (0.5, 0.75)


def test_the_samples_of_a_repeat_are_averaged_before_the_repeats(world: Any) -> None:
    repeats = [0, 0, 1, None]
    rows = [
        {
            "id": f"s{i}",
            "step": 0,
            "task": "a" if i < 3 else "b",
            "repeat": repeats[i],
            "reward": [1.0, 0.0, 1.0, 0.25][i],
        }
        for i in range(4)
    ]
    world.writer().rows("samples", rows)
    statistics = step_statistics(rs.open(world.root).run())
    assert at(statistics, "task_reward/mean", 0) == 0.5, "0.75 of task a, 0.25 of task b"


def test_one_environment_has_its_own_statistics(world: Any) -> None:
    rows = samples(1)
    write(world, rows)
    statistics = step_statistics(rs.open(world.root).run(), env="math")
    mean = np.mean([r["reward"] for r in rows if r["env"] == "math"])
    assert at(statistics, "reward/generated/mean", 0) == pytest.approx(mean)


def test_an_environment_that_has_a_step_to_itself_is_found_there_too(world: Any) -> None:
    w = world.writer()
    w.rows(
        "samples",
        [{"id": f"a{i}", "step": 0, "env": "math" if i % 2 else "code", "reward": float(i)} for i in range(4)],
    )
    w.rotate()
    logs.seal(str(world.run))
    w.rows("samples", [{"id": f"b{i}", "step": 1, "env": "math", "reward": float(i)} for i in range(4)])
    w.rows("samples", [{"id": f"c{i}", "step": 2, "env": "code", "reward": float(i)} for i in range(4)])
    run = rs.open(world.root).run()
    for round in range(2):
        series = step_statistics(run, env="math")["reward/mean"]
        assert (series["step"].tolist(), series["value"].tolist()) == ([0, 1], [2.0, 1.5])
        assert step_statistics(run)["reward/mean"]["value"].tolist() == [1.5, 1.5, 1.5]
        if round == 0:
            w.rotate()
            logs.seal(str(world.run))
            compact.compact(str(world.run), everything=True)
            run = rs.open(world.root).run()


def test_evaluation_samples_are_not_training_samples(world: Any) -> None:
    world.writer().rows(
        "samples", [{"id": "a", "step": 0, "reward": 1.0}, {"id": "b", "step": 0, "reward": 0.0, "split": "eval"}]
    )
    assert at(step_statistics(rs.open(world.root).run()), "reward/mean", 0) == 1.0


def test_an_empty_answer_is_in_lengths_and_in_no_mean_over_sequences(world: Any) -> None:
    rows = [
        {"id": "a", "step": 0, "reward": 1.0, "completion_tokens": 4},
        {"id": "b", "step": 0, "reward": 0.0, "completion_tokens": 0},
    ]
    world.writer().rows("samples", rows)
    statistics = step_statistics(rs.open(world.root).run())
    assert at(statistics, "reward/mean", 0) == 1.0
    assert (at(statistics, "length/completion/mean", 0), at(statistics, "length/aborted", 0)) == (2.0, 0.5)


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        for column in ("step", "value", "weight"):
            np.testing.assert_allclose(a[name][column], b[name][column], rtol=1e-12, equal_nan=True, err_msg=name)


@pytest.mark.parametrize("split", [1, 2, 5])
def test_kept_statistics_are_those_computed_from_scratch(world: Any, split: int) -> None:
    rows = samples(6)
    w = write(world, [])
    late: list[dict[str, Any]] = []
    for i in range(split):
        part = rows[i * len(rows) // split : (i + 1) * len(rows) // split]
        w.rows("samples", [{k: v for k, v in row.items() if k != "trained"} for row in part])
        late += [{"id": row["id"], "trained": row["trained"]} for row in part]
        if i % 2 == 0:
            w.rows("samples", late)  # otherwise a later log has them, and no set has their whole steps
            late = []
        w.rotate()
    w.rows("samples", late)
    run = rs.open(world.root).run()
    live = step_statistics(run)
    logs.seal(str(world.run))
    same(live, step_statistics(rs.open(world.root).run()))
    run.refresh()
    same(live, step_statistics(run))
    compact.compact(str(world.run), everything=True)
    same(live, step_statistics(rs.open(world.root).run()))


def test_a_late_sample_recomputes_its_step_and_no_other(world: Any) -> None:
    rows = samples(5)
    w = write(world, rows)
    w.rotate()
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    before = step_statistics(run)
    w.rows("samples", [{"id": "late", "step": 3, "group": "g3-0", "reward": 2.0, "trained": True}])
    run.refresh()
    after = step_statistics(run)
    assert run._rollups._marks.steps.tolist() == [3]
    assert at(after, "reward/generated/mean", 3) != at(before, "reward/generated/mean", 3)
    assert at(after, "reward/generated/mean", 2) == at(before, "reward/generated/mean", 2)
    assert after["reward/generated/mean"]["step"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_component_name_with_a_lone_surrogate_is_survived(world: Any, sealed: bool) -> None:
    w = world.writer()
    w.rows(
        "samples",
        [
            {"id": "a", "step": 0, "reward": 1.0, "rewards": {"lone \ud800": 1.0, "format": 0.5}},
            {"id": "b", "step": 0, "reward": 0.0, "rewards": {"format": 1.5}},
        ],
    )
    w.rotate()
    if sealed:
        logs.seal(str(world.run))
    statistics = step_statistics(rs.open(world.root).run())
    assert at(statistics, "reward_component/format/mean", 0) == 1.0
