"""A series has one value per step, whichever process wrote it; its buckets keep every extreme."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.moments import Moments, Std
from rollscope.catalog.partials.partial import Max, Mean
from rollscope.errors import BadInput, UnknownMetric
from rollscope.store.seal import compact, logs


def series(world: Any, name: str, **more: Any) -> dict[str, Any]:
    return rs.open(world.root).run("r1").series(name, **more)


def test_what_was_logged_comes_back(world: Any) -> None:
    w = world.writer()
    for step in range(5):
        w.metrics(step, {"a": step / 3, "b": math.nan})
    found = series(world, "a")
    assert found["step"].tolist() == [0, 1, 2, 3, 4]
    assert found["value"].tolist() == [step / 3 for step in range(5)]
    assert np.isnan(series(world, "b")["value"]).all()


@pytest.mark.parametrize("points", [None, 100])
@pytest.mark.parametrize("sealed", [False, True])
def test_what_a_caller_does_to_an_answer_changes_no_later_one(world: Any, sealed: bool, points: int | None) -> None:
    w = world.writer()
    for step in range(5):
        w.metrics(step, {"a": float(step)})
    w.finish()
    if sealed:
        logs.seal(str(world.run))
    run = rs.open(world.root).run("r1")
    for column in run.series("a", points=points).values():
        column[:] = 7
    again, fresh = run.series("a", points=points), series(world, "a", points=points)
    assert all(np.array_equal(again[name], fresh[name], equal_nan=True) for name in fresh)


def test_within_a_writer_plain_numbers_replace_and_partials_add(world: Any) -> None:
    w = world.writer()
    w.metrics(1, {"plain": 1.0, "share": Mean(3.0, 4.0)})
    w.metrics(1, {"plain": 2.0, "share": Mean(1.0, 12.0)})
    assert series(world, "plain")["value"].tolist() == [2.0]
    assert series(world, "share")["value"].tolist() == [0.25]
    assert series(world, "share")["weight"].tolist() == [16.0]


def test_across_writers_plain_numbers_average_and_keep_their_ends(world: Any) -> None:
    for rank, value in enumerate((1.0, 2.0, 6.0)):
        world.writer(rank, rank=rank).metrics(1, {"plain": value, "best": Max(value, value, 1.0)})
    found = series(world, "plain")
    assert (found["value"][0], found["min"][0], found["max"][0]) == (3.0, 1.0, 6.0)
    assert series(world, "best")["value"].tolist() == [6.0]
    assert series(world, "plain", rank=2)["value"].tolist() == [6.0]


def test_a_spread_over_ranks_is_the_spread_of_everything(world: Any) -> None:
    x = np.random.default_rng(0).normal(1e6, 1, 60)
    for rank in range(4):
        world.writer(rank, rank=rank).metrics(3, {"std": Std.of(x[rank::4]), "mean": Moments.of(x[rank::4])})
    assert series(world, "std")["value"][0] == pytest.approx(x.std(ddof=1), rel=1e-9)
    assert series(world, "mean")["value"][0] == pytest.approx(x.mean(), rel=1e-12)


def test_after_a_resume_the_newest_attempt_is_drawn_and_the_older_kept(world: Any) -> None:
    first = world.writer(1)
    for step in range(10):
        first.metrics(step, {"a": 1.0})
    second = world.writer(2, attempt=2)
    for step in range(6, 8):
        second.metrics(step, {"a": 2.0})
    assert series(world, "a")["value"].tolist() == [1.0] * 6 + [2.0] * 2
    assert series(world, "a", attempt=1)["step"].tolist() == list(range(10))


def test_steps_may_come_late_twice_and_out_of_order(world: Any) -> None:
    w = world.writer()
    for step in (5, 3, 4, 3):
        w.metrics(step, {"a": float(step)}, time_ns=step)
    assert series(world, "a")["step"].tolist() == [3, 4, 5]


def test_of_plain_numbers_the_latest_counts_not_the_last_written(world: Any) -> None:
    w = world.writer()
    w.metrics(1, {"a": 2.0}, time_ns=20)
    w.metrics(1, {"a": 1.0}, time_ns=10)  # it came from a device, and was written when it was there
    assert series(world, "a")["value"].tolist() == [2.0]


def test_integers_beyond_a_double_come_back_bit_for_bit(world: Any) -> None:
    big = 2**62 + 1
    world.writer().metrics(0, {"n": big})
    world.writer(2).metrics(1, {"n": -big})
    assert series(world, "n")["exact"].tolist() == [big, -big]


def test_no_spike_is_sampled_away_and_nan_blots_out_nothing(world: Any) -> None:
    w = world.writer()
    for step in range(1000):
        w.metrics(step, {"a": 1e6 if step == 777 else math.nan if step == 300 else math.inf if step == 301 else 1.0})
    found = series(world, "a", points=50)
    assert len(found["step"]) == 50
    assert found["max"].max() == 1e6
    assert np.isfinite(found["mean"]).all()
    assert (found["nan"].sum(), found["posinf"].sum(), found["neginf"].sum(), found["count"].sum()) == (1, 1, 0, 998)
    assert found["step"][-1] == 999


def test_no_data_is_neither_nan_nor_zero(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": Mean(0.0, 0.0)})
    found = series(world, "a", points=10)
    assert (found["count"].tolist(), found["nan"].tolist()) == ([0], [0])
    assert math.isnan(found["mean"][0])


def test_a_running_log_is_read_as_it_grows(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0})
    run = rs.open(world.root).run("r1")
    assert not run.refresh()
    w.metrics(1, {"a": 2.0})
    assert run.refresh()
    assert run.series("a")["value"].tolist() == [1.0, 2.0]


def test_names_have_their_last_value(world: Any) -> None:
    w = world.writer()
    w.metrics(0, {"a": 1.0, "b": Mean(1.0, 2.0)})
    w.metrics(1, {"a": 3.0})
    found = rs.open(world.root).run().metrics()
    assert dict(zip(found["name"], found["last"], strict=True)) == {"a": 3.0, "b": 0.5}
    assert dict(zip(found["name"], found["kind"], strict=True)) == {"a": "scalar", "b": "mean"}


def test_many_series_share_a_grid(world: Any) -> None:
    w = world.writer()
    for step in range(100):
        w.metrics(step, {"a": float(step), **({"b": -1.0} if step < 50 else {})})
    found = rs.open(world.root).run().buckets(["a", "b"], 0, 99, 10)
    assert found["max"].shape == (2, 10)
    assert found["max"][0].tolist() == [9.0, 19.0, 29.0, 39.0, 49.0, 59.0, 69.0, 79.0, 89.0, 99.0]
    assert found["count"][1].tolist() == [10] * 5 + [0] * 5


def test_any_clock_can_be_the_x(world: Any) -> None:
    w = world.writer()
    w.rows("steps", [{"step": s, "time_ns": 10 * s, "tokens": 1000 * s} for s in range(5)])
    for step in range(5):
        w.metrics(step, {"a": 1.0})
    assert series(world, "a", x="tokens")["x"].tolist() == [0, 1000, 2000, 3000, 4000]
    assert series(world, "a", x="relative")["x"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(BadInput, match="no clock 'stepp'"):
        series(world, "a", x="stepp")


def test_an_unknown_name_is_answered_with_its_neighbours(world: Any) -> None:
    world.writer().metrics(0, {"policy/entropy": 1.0})
    with pytest.raises(UnknownMetric, match="policy/entropy"):
        series(world, "policy/entrpy")


def test_the_shard_of_steps_asked_for(world: Any) -> None:
    w = world.writer()
    for step in range(10):
        w.metrics(step, {"a": 1.0})
    assert series(world, "a", steps=(3, 5))["step"].tolist() == [3, 4, 5]
    assert series(world, "a", steps=range(0, 10, 4))["step"].tolist() == [0, 4, 8]
    assert series(world, "a", steps=[9, 1])["step"].tolist() == [1, 9]


def fill_environments(world: Any) -> None:
    for rank in range(2):
        w = world.writer(rank + 1, rank=rank)
        for step in range(3):
            w.metrics(step, {"share": Mean(3.0, 10.0)})
            w.metrics(step, {"share": Mean(1.0, 4.0), "only": Mean(1.0, 4.0)}, env="math")
            w.metrics(step, {"share": Mean(2.0, 6.0), "only": Mean(2.0, 6.0)}, env="code")
        w.finish()


@pytest.mark.parametrize("sealed", [False, True])
def test_the_whole_is_not_added_to_its_environments(world: Any, sealed: bool) -> None:
    fill_environments(world)
    if sealed:
        logs.seal(str(world.run))
        compact.compact(str(world.run), everything=True)
    assert series(world, "share")["weight"].tolist() == [20.0] * 3
    assert series(world, "share", env="math")["value"].tolist() == [0.25] * 3
    assert series(world, "only")["value"].tolist() == [0.3] * 3  # nothing was said of the whole: its parts add up
    run = rs.open(world.root).run()
    found = run.metrics()
    assert dict(zip(found["name"], found["last"], strict=True)) == pytest.approx({"share": 0.3, "only": 0.3})
    np.testing.assert_allclose(run.buckets(["share", "only"], 0, 2, 3)["mean"], 0.3)
