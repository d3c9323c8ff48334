"""Names that many processes log: merging all at once gives the same as merging each alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.moments import Std
from rollscope.catalog.partials.partial import Extremes, Mean, Ratio
from rollscope.store.series import same_shape


def values(rng: np.random.Generator, step: int) -> dict[str, Any]:
    odd = math.nan if step % 5 == 0 else math.inf if step % 7 == 0 else 1.0
    partials = {
        "share": Mean(float(rng.integers(9)), 10.0),
        "spread": Std.of(rng.normal(size=5)),
        "top": Extremes.of(rng.normal(size=3)),
        "ratio": Ratio(1.0, float(step)),
    }
    return {"plain": rng.random(), "odd": odd, **partials}


@pytest.fixture
def run(world: Any) -> Any:
    for rank in range(6):
        rng = np.random.default_rng(rank)
        w = world.writer(rank + 1, rank=rank)
        for step in range(rank % 3, 40 - rank):  # some begin late, some are behind
            w.metrics(step, values(rng, step) | ({"only first": float(step)} if rank == 0 else {}))
            if rank < 2:
                w.metrics(step, {"of two": rng.random()})
    return rs.open(world.root).run()


def test_buckets_of_all_names_are_those_of_each(run: Any) -> None:
    names = run.metrics()["name"].tolist()
    assert {name for group in same_shape.groups(run.folder, names) for name in group.names} == set(names)
    grid = run.buckets(names, 0, 39, 40)  # a bucket is a step
    for i, name in enumerate(names):
        series = run.series(name)
        mean = np.full(40, np.nan)
        mean[series["step"]] = np.where(np.isfinite(series["value"]), series["value"], np.nan)
        np.testing.assert_allclose(grid["mean"][i], mean, rtol=1e-14, err_msg=name)
        for bound in ("min", "max"):
            extreme = np.full(40, np.nan)
            extreme[series["step"]] = np.where(np.isfinite(series[bound]), series[bound], np.nan)
            np.testing.assert_allclose(grid[bound][i], extreme, rtol=1e-14, err_msg=name)


def test_the_last_value_is_merged_over_the_ranks_that_reached_it(run: Any) -> None:
    listed = run.metrics()
    for i, name in enumerate(listed["name"]):
        series = run.series(name)
        assert listed["step"][i] == series["step"][-1]
        assert listed["last"][i] == pytest.approx(series["value"][-1], rel=1e-14, nan_ok=True), name


def test_a_writer_that_repeats_a_step_is_left_to_merging(world: Any) -> None:
    for rank in range(2):
        w = world.writer(rank + 1, rank=rank)
        for step in (0, 1, 1):
            w.metrics(step, {"a": float(rank), "m": Mean(1.0, 2.0)})
    run = rs.open(world.root).run()
    assert same_shape.groups(run.folder, ["a", "m"]) == []
    assert run.metrics()["last"].tolist() == [0.5, 0.5]
