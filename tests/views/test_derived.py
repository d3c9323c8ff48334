"""Sample statistics and times are read like any metric, unless their name was logged."""

from __future__ import annotations

from typing import Any

import pytest

import rollscope as rs


def fill(world: Any) -> Any:
    w = world.writer()
    for s in range(4):
        for i in range(3):
            w.rows("samples", [{"id": f"{s}-{i}", "step": s, "reward": float(i), "completion_tokens": 10 * (i + 1)}])
        span = {"id": s, "name": "forward", "lane": "trainer/0", "kind": "work", "step": s}
        w.rows("spans", [{**span, "start_ns": s * 10**9, "end_ns": s * 10**9 + 5 * 10**8}])
        w.rows("steps", [{"step": s, "time_ns": s * 10**9, "end_ns": s * 10**9 + 7 * 10**8}])
    return w


def test_a_derived_series_is_read_like_a_logged_one(world: Any) -> None:
    fill(world)
    run = rs.open(world.root).run()
    assert run.series("reward/mean")["value"].tolist() == [1.0] * 4
    assert run.series("time/forward")["value"].tolist() == [0.5] * 4
    assert run.series("reward/mean", points=2)["max"].tolist() == [1.0, 1.0]
    assert run.series("reward/mean")["time_ns"].tolist() == [s * 10**9 + 7 * 10**8 for s in range(4)]
    metrics = run.metrics()
    last = dict(zip(metrics["name"], metrics["last"], strict=True))
    assert last["length/completion/max"] == 30.0
    assert run.buckets(["reward/max", "time/step"], 0, 3, 4)["last"][0].tolist() == [2.0] * 4


def test_a_logged_series_goes_before_a_derived_one(world: Any) -> None:
    w = fill(world)
    w.metrics(0, {"reward/mean": 9.0})
    assert rs.open(world.root).run().series("reward/mean")["value"].tolist() == [9.0]


@pytest.mark.parametrize("theirs", ["timing_s/step", "critic/rewards/mean"])
def test_a_derived_series_answers_to_a_frameworks_name(world: Any, theirs: str) -> None:
    fill(world)
    assert len(rs.open(world.root).run().series(theirs)["step"]) >= 3


def test_a_derived_series_has_times_in_a_run_without_a_steps_table(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0}, time_ns=10**18)
    w.metrics(4, {"a": 1.0}, time_ns=10**18 + 40)
    w.rows("samples", [{"id": f"{s}", "step": s, "reward": 1.0} for s in range(5)])
    assert rs.open(world.root).run().series("reward/mean")["time_ns"].tolist() == [10**18 + 10 * s for s in range(5)]
