"""Time metrics from spans, and the parts of one step for the Overview."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.store.seal import logs
from rollscope.views.time.live_times import LiveTimes
from rollscope.views.time.time_parts import time_parts
from rollscope.views.time.times import times

S = 10**9


def span(name: str, start: float, end: float, step: int, lane: str = "trainer/0", **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "name": name,
        "lane": lane,
        "kind": "work",
        "start_ns": int(start * S),
        "end_ns": int(end * S),
        "step": step,
        **more,
    }


def timed(
    world: Any, *spans: dict[str, Any], samples: list[dict[str, Any]] | None = None
) -> dict[str, dict[int, float]]:
    """Metric -> step -> seconds."""
    w = world.writer()
    w.rows("spans", list(spans))
    if samples:
        w.rows("samples", samples)
    return {
        name: dict(zip(s["step"].tolist(), s["value"].tolist(), strict=True))
        for name, s in times(rs.open(world.root).run()).items()
    }


def test_a_step_lasts_from_the_end_of_the_one_before(world: Any) -> None:
    out = timed(world, span("forward", 0, 4, 1), span("forward", 6, 9, 2), span("forward", 9, 15, 3))
    assert out["time/step"] == {2: 5.0, 3: 6.0}


def test_work_that_overlaps_counts_once_and_waiting_is_not_work(world: Any) -> None:
    out = timed(
        world,
        span("forward", 0, 4, 1),
        span("backward", 3, 6, 1),
        span("inner", 3.5, 4.5, 1),
        span("optimizer", 8, 9, 1),
        span("wait", 6, 8, 1, kind="wait"),
        span("generate", 0, 100, 1, lane="inference/0"),
    )
    assert out["time/active"] == {1: pytest.approx(7.0)}
    assert out["time/waiting_for_data"] == {1: pytest.approx(2.0)}
    assert out["time/generate"] == {1: pytest.approx(100.0)}


def test_an_operation_is_summed_on_one_rank_with_the_slowest_beside_it(world: Any) -> None:
    ranks = [span("forward", 0, 1 + rank, 1, lane=f"trainer/{rank}") for rank in range(3)]
    out = timed(world, *ranks, span("forward", 5, 6, 1))
    assert out["time/forward"] == {1: pytest.approx(2.0)}
    assert out["time/forward/slowest_rank"] == {1: pytest.approx(3.0)}


def test_frameworks_words_for_an_operation_are_ours(world: Any) -> None:
    assert timed(world, span("update_actor", 0, 3, 1))["time/update_policy"] == {1: pytest.approx(3.0)}


def test_microbatches_have_their_spread(world: Any) -> None:
    seconds = [1.0, 2.0, 4.0]
    out = timed(world, *(span("forward", 10 * i, 10 * i + s, 1, microbatch=i) for i, s in enumerate(seconds)))
    assert out["time/forward/microbatch/mean"] == {1: pytest.approx(np.mean(seconds))}
    assert out["time/forward/microbatch/std"] == {1: pytest.approx(np.std(seconds, ddof=1))}
    assert out["time/forward/microbatch/min"] == {1: pytest.approx(1.0)}
    assert out["time/forward/microbatch/max"] == {1: pytest.approx(4.0)}
    assert out["time/microbatches"] == {1: 3.0}


def test_a_weight_update_is_timed_on_both_sides(world: Any) -> None:
    out = timed(
        world,
        span("sync_weights", 1, 2, 1),
        span("sync_weights", 3, 4, 1),
        *(span("sync_weights", 2 + i, 5 + i, 1, lane=f"inference/{i}") for i in range(2)),
    )
    assert out["time/weight_sync/trainer"] == {1: pytest.approx(3.0)}
    assert out["time/weight_sync/inference"] == {1: pytest.approx(4.0)}


def test_seconds_per_token_need_the_tokens_of_the_step(world: Any) -> None:
    samples = [{"id": f"s{i}", "step": 1, "prompt_tokens": 5, "response_tokens": 10} for i in range(4)]
    spans = [span("generate", 0, 20, 1, lane="inference/0"), span("update_policy", 20, 26, 1)]
    out = timed(world, *spans, samples=samples)
    assert out["time_per_token/generate"] == {1: pytest.approx(20 / 40)}
    assert out["time_per_token/update_policy"] == {1: pytest.approx(6 / 60)}


def test_a_run_without_spans_has_its_steps_from_the_clock(world: Any) -> None:
    w = world.writer()
    w.rows("steps", [{"step": i, "time_ns": i * S, "end_ns": i * S * 2} for i in range(3)])
    series = times(rs.open(world.root).run())
    assert series["time/step"]["value"].tolist() == [2.0, 2.0]
    assert list(series) == ["time/step"]


def test_a_run_that_goes_on_computes_only_its_new_steps(world: Any) -> None:
    w = world.writer()
    run = rs.open(world.root).run()
    live = LiveTimes(run)
    clock = 0.0
    for step in range(12):
        rows = [span("forward", clock + i, clock + i + 0.5 + step / 100, step, microbatch=i) for i in range(3)]
        rows.append(span("wait", clock + 4, clock + 5, step, kind="wait"))
        rows.append(span("generate", clock, clock + 3, step, lane="inference/0"))
        w.rows("spans", rows)
        w.rows("samples", [{"id": f"{step}", "step": step, "prompt_tokens": 3, "response_tokens": 7}])
        clock += 6
        if step % 5 == 4:
            w.rotate()
            logs.seal(str(world.run))
        run.refresh()
        updated, computed = live.series(), times(run)
        assert updated.keys() >= computed.keys()
        for name in computed:
            where = f"{name} at {step}"
            np.testing.assert_array_equal(updated[name]["step"], computed[name]["step"], err_msg=where)
            values = updated[name]["value"], computed[name]["value"]
            np.testing.assert_allclose(*values, rtol=1e-12, equal_nan=True, err_msg=where)


def test_parts_of_a_step_that_are_not_nested_are_the_time_metrics(world: Any) -> None:
    """The Overview and the charts give the same seconds of the trainer's first lane."""
    own = [span("generate", 0, 4, 1), span("forward", 4, 6, 1), span("forward", 6, 9, 1)]
    own.append(span("wait", 9, 10, 1, kind="wait"))
    other = [span("forward", 0, 7, 1, "trainer/1"), span("decode", 0, 50, 1, "inference/0")]
    out = timed(world, *own, *other)
    step, parts = time_parts(rs.open(world.root).run(), 1)
    seconds = {part["name"]: part["seconds"] for part in parts}
    assert step == 1 and seconds == {"forward": 5.0, "generate": 4.0, "wait": 1.0}
    assert [part["wait"] for part in parts] == [False, False, True]
    for name, value in seconds.items():
        assert out[f"time/{name}"] == {1: pytest.approx(value)}


def test_a_nested_span_counts_in_times_but_not_in_the_parts_of_a_step(world: Any) -> None:
    out = timed(world, span("update_policy", 0, 10, 1), span("forward", 2, 5, 1), span("forward", 10, 11, 1))
    assert out["time/forward"] == {1: pytest.approx(4.0)}
    _, parts = time_parts(rs.open(world.root).run(), 1)
    assert parts == [
        {"name": "update_policy", "seconds": 10.0, "wait": False},
        {"name": "forward", "seconds": 1.0, "wait": False},
    ]


def test_the_usual_step_has_the_spans_that_most_steps_have(world: Any) -> None:
    w = world.writer()
    w.rows("steps", [{"step": step, "time_ns": step * S, "end_ns": (step + 1) * S} for step in range(6)])
    w.metrics(5, {"reward/mean": 1.0})
    w.rows("spans", [span("forward", step, step + 0.5, step) for step in range(5)] + [span("evaluate", 5, 6, 5)])
    assert time_parts(rs.open(world.root).run(), None)[0] == 4


def test_a_run_without_spans_has_parts_from_its_time_metrics(world: Any) -> None:
    w = world.writer()
    w.metrics(3, {"time/generate": 2.0, "time/wait_for_data": 0.5, "time/step": 9.0})
    step, parts = time_parts(rs.open(world.root).run(), None)
    assert step == 3 and [(part["name"], part["seconds"], part["wait"]) for part in parts] == [
        ("generate", 2.0, False),
        ("wait for data", 0.5, True),
    ]


def test_workers_of_ray_are_what_the_stages_consist_of_and_count_no_second_time(world: Any) -> None:
    stages = [span("update_actor", 4.0 * step, 4.0 * step + 3, step, lane="driver/0") for step in (1, 2)]
    workers = [
        span("update_actor", 4.0 * step, 4.0 * step + 2 + i, step, lane=f"ray:W/{i}") for step in (1, 2) for i in (0, 1)
    ]
    out = timed(world, *stages, *workers)
    assert out["time/step"] == {2: 4.0}
    assert {name: values for name, values in out.items() if "update" in name} == {
        "time/update_policy": {1: 3.0, 2: 3.0}
    }


def test_a_run_whose_only_spans_are_of_workers_of_ray_has_no_times(world: Any) -> None:
    assert timed(world, *[span("update_actor", i, i + 1, i, lane="ray:Trainer/0") for i in range(3)]) == {}
