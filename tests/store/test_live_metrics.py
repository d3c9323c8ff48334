"""All rows of a log at once are those of each name."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Extremes, Mean
from rollscope.store.live.tail import Tail
from rollscope.store.log import files
from rollscope.store.numbers.rows import Words


def test_everything_is_the_rows_of_each_name_in_their_order(world: Any) -> None:
    writer = world.writer(1, rank=0)
    for step in (3, 1, 2, 2, 5):  # late, and twice
        writer.metrics(step, {"plain": step / 7, "odd": math.nan, "share": Mean(float(step), 2.0)})
        writer.metrics(step, {"plain": step / 9, "top": Extremes.of(np.arange(step + 1.0))})
    (name,) = files.listed(str(world.run))
    tail = Tail(os.path.join(str(world.run), name), Words(), 0)
    tail.refresh()
    everything = tail.metrics.everything()
    assert set(everything.names) == {"plain", "odd", "share", "top"} and (np.diff(everything.name) >= 0).all()
    for code, one in enumerate(everything.names):
        alone, among = tail.metrics.rows(one), everything.rows.take(np.flatnonzero(everything.name == code))
        for column in ("step", "time_ns", "value", "weight", "kind", "writer", "seq", "rank", "attempt", "scope"):
            np.testing.assert_array_equal(getattr(alone, column), getattr(among, column), f"{column} of {one}")
        np.testing.assert_array_equal(alone.state.flat, among.state.flat)
        np.testing.assert_array_equal(alone.state.ends, among.state.ends)
    assert everything.rows.take(np.flatnonzero(everything.name == everything.names.index("plain"))).step.tolist() == [
        *(3, 3, 1, 1, 2, 2, 2, 2, 5, 5)
    ]
