"""Names with NaN or infinity are found from what files keep, wherever the rows lie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Mean
from rollscope.store.run import Run
from rollscope.store.seal.logs import seal


def looked_at(run: Run) -> set[str]:
    """The same, series by series."""
    series = {name: run.series(name) for name in run.stored_names()}
    return {name for name, one in series.items() if (~np.isfinite(one["value"]) & (one["weight"] != 0)).any()}


def logged(writer: Any, step: int) -> None:
    odd = {7: math.nan, 8: math.inf, 9: -math.inf}.get(step % 64, 1.0)
    writer.metrics(step, {"plain": step / 7, "odd": odd, "nothing": Mean(math.nan, 0.0), "mean": Mean(odd, 2.0)})
    writer.metrics(step, {"rare": math.nan if step == 70 else 0.0})


def test_a_log_its_sealed_set_and_what_comes_after(world: Any) -> None:
    writer, run = world.writer(1, rank=0), None
    for step in range(75):
        logged(writer, step)
        run = run or Run(str(world.run))
        run.refresh()
        assert set(run.non_finite()) == looked_at(run), step
    assert looked_at(run) == {"odd", "mean", "rare"}
    writer.rotate()
    seal(str(world.run))
    run.refresh()
    assert set(run.non_finite()) == {"odd", "mean", "rare"} == set(Run(str(world.run)).non_finite())
    writer.metrics(80, {"plain": math.nan})
    run.refresh()
    assert set(run.non_finite()) == {"odd", "mean", "rare", "plain"}


def test_ranks_and_a_later_attempt(world: Any) -> None:
    ranks = [world.writer(rank + 1, rank=rank) for rank in range(3)]
    for step in range(5):
        for rank, writer in enumerate(ranks):
            writer.metrics(step, {"loss": math.nan if (rank, step) == (2, 3) else 1.0, "lr": 0.1})
    again = world.writer(9, rank=0, attempt=2)
    again.metrics(3, {"lr": math.inf, "new": 1.0})
    run = Run(str(world.run))
    assert looked_at(run) <= set(run.non_finite()) == {"loss", "lr"}  # a superset: rows are not merged
