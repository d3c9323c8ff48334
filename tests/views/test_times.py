"""Time metrics are views over spans, as the definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.store.seal import logs
from rollscope.views.time.live_times import LiveTimes
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


def found(
    world: Any, *spans: dict[str, Any], samples: list[dict[str, Any]] | None = None
) -> dict[str, dict[int, float]]:
    w = world.writer()
    w.rows("spans", list(spans))
    if samples:
        w.rows("samples", samples)
    return {
        name: dict(zip(s["step"].tolist(), s["value"].tolist(), strict=True))
        for name, s in times(rs.open(world.root).run()).items()
    }


def test_a_step_lasts_from_the_end_of_the_one_before(world: Any) -> None:
    out = found(world, span("forward", 0, 4, 1), span("forward", 6, 9, 2), span("forward", 9, 15, 3))
    assert out["time/step"] == {2: 5.0, 3: 6.0}


def test_work_that_overlaps_counts_once_and_waiting_is_not_work(world: Any) -> None:
    out = found(
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
    out = found(
        world, *(span("forward", 0, 1 + rank, 1, lane=f"trainer/{rank}") for rank in range(3)), span("forward", 5, 6, 1)
    )
    assert out["time/forward"] == {1: pytest.approx(2.0)}
    assert out["time/forward/slowest_rank"] == {1: pytest.approx(3.0)}


def test_frameworks_words_for_an_operation_are_ours(world: Any) -> None:
    assert found(world, span("update_actor", 0, 3, 1))["time/update_policy"] == {1: pytest.approx(3.0)}


def test_microbatches_have_their_spread(world: Any) -> None:
    seconds = [1.0, 2.0, 4.0]
    out = found(world, *(span("forward", 10 * i, 10 * i + s, 1, microbatch=i) for i, s in enumerate(seconds)))
    assert out["time/forward/microbatch/mean"] == {1: pytest.approx(np.mean(seconds))}
    assert out["time/forward/microbatch/std"] == {1: pytest.approx(np.std(seconds, ddof=1))}
    assert (out["time/forward/microbatch/min"], out["time/forward/microbatch/max"]) == (
        {1: pytest.approx(1.0)},
        {1: pytest.approx(4.0)},
    )
    assert out["time/microbatches"] == {1: 3.0}


def test_a_weight_update_is_timed_on_both_sides(world: Any) -> None:
    out = found(
        world,
        span("sync_weights", 1, 2, 1),
        span("sync_weights", 3, 4, 1),
        *(span("sync_weights", 2 + i, 5 + i, 1, lane=f"inference/{i}") for i in range(2)),
    )
    assert out["time/weight_sync/trainer"] == {1: pytest.approx(3.0)}
    assert out["time/weight_sync/inference"] == {1: pytest.approx(4.0)}


def test_seconds_per_token_need_the_tokens_of_the_step(world: Any) -> None:
    samples = [{"id": f"s{i}", "step": 1, "prompt_tokens": 5, "response_tokens": 10} for i in range(4)]
    out = found(
        world, span("generate", 0, 20, 1, lane="inference/0"), span("update_policy", 20, 26, 1), samples=samples
    )
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
    clock = 0.0
    for step in range(12):
        rows = [span("forward", clock + i, clock + i + 0.5 + step / 100, step, microbatch=i) for i in range(3)]
        w.rows(
            "spans",
            [
                *rows,
                span("wait", clock + 4, clock + 5, step, kind="wait"),
                span("generate", clock, clock + 3, step, lane="inference/0"),
            ],
        )
        w.rows("samples", [{"id": f"{step}", "step": step, "prompt_tokens": 3, "response_tokens": 7}])
        clock += 6
        if step % 5 == 4:
            w.rotate()
            logs.seal(str(world.run))
        run.refresh()
        live, whole = LiveTimes(run), times(run)
        kept = run.__dict__.setdefault("kept", live).series()
        assert kept.keys() >= whole.keys()
        for name in whole:
            np.testing.assert_array_equal(kept[name]["step"], whole[name]["step"], err_msg=f"{name} at {step}")
            np.testing.assert_allclose(
                kept[name]["value"], whole[name]["value"], rtol=1e-12, equal_nan=True, err_msg=f"{name} at {step}"
            )
