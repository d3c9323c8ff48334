"""Adding the states of many partials at once gives the same as adding the partials."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.catalog.partials import moments, partial
from rollscope.errors import BadInput
from rollscope.store.numbers import partial_sums
from rollscope.store.numbers.merge import merge
from rollscope.store.numbers.rows import Rows, States, Words

numbers = st.floats(-1e6, 1e6, allow_nan=False)
some = st.lists(numbers, max_size=5).map(np.array)
MAKE: dict[str, Any] = {
    "mean": lambda x: partial.Mean(float(x.sum()), float(len(x))),
    "ratio": lambda x: partial.Ratio(float(x.sum()), float(len(x))),
    "sum": lambda x: partial.Sum.of(x),
    "counter": lambda x: partial.Counter(float(len(x)), float(np.abs(x).sum())),
    "moments": lambda x: moments.Moments.of(x),
    "std": lambda x: moments.Std.of(x),
    "std0": lambda x: moments.PopulationStd.of(x),
    "extremes": lambda x: partial.Extremes.of(x),
    "max": lambda x: partial.Max.of(x),
    "min": lambda x: partial.Min.of(x),
    "last": lambda x: partial.Last(float(x[-1]), len(x) * 10**9 + 7) if len(x) else partial.Last(),
}


def states(parts: list[partial.Partial]) -> States:
    rows = [np.array(part.state(), np.float64) for part in parts]
    return States(np.concatenate([np.empty(0), *rows]), np.cumsum([len(row) for row in rows]))


def test_every_fixed_kind_is_held_to_its_partial() -> None:
    assert set(MAKE) == set(partial_sums.VECTOR)


@pytest.mark.parametrize("kind", MAKE)
@settings(max_examples=60, deadline=None)
@given(data=st.lists(st.lists(some, min_size=1, max_size=4), min_size=1, max_size=4))
def test_stretches_of_rows_add_as_partials_do(kind: str, data: list[list[Any]]) -> None:
    stretches = [[MAKE[kind](x) for x in stretch] for stretch in data]
    starts = np.cumsum([0, *(len(stretch) for stretch in stretches)])
    flat = states([part for stretch in stretches for part in stretch])
    value, weight = partial_sums.add(kind, flat, starts[:-1], partial_sums.nothing_more)
    for i, (lo, hi) in enumerate(pairwise(starts.tolist())):
        assert hi - lo == len(stretches[i])
        total = stretches[i][0]
        for part in stretches[i][1:]:
            total = total + part
        assert value[i] == pytest.approx(total.value, rel=1e-9, abs=1e-6, nan_ok=True)
        assert weight[i] == pytest.approx(total.weight)


def rows(steps: list[int], values: list[float], kinds: list[str], writers: list[int], words: Words) -> Rows:
    n = len(steps)
    ints = np.arange(n)
    return Rows(
        step=np.array(steps),
        time_ns=ints,
        value=np.array(values),
        weight=np.full(n, np.nan),
        kind=words.codes(kinds),
        writer=np.array(writers, np.int32),
        seq=np.zeros(n, np.int64),
        rank=np.array(writers),
        attempt=np.ones(n, np.int64),
        scope=np.zeros(n, np.int32),
        state=States.none(n),
    )


def test_a_kind_that_no_reader_can_add_raises_a_sentence() -> None:
    words = Words()
    unknown = rows([1, 1], [1.0, 2.0], ["from the future"] * 2, [0, 1], words)
    with pytest.raises(BadInput, match="from the future"):
        merge(unknown, words, {})


def test_of_two_kinds_in_a_step_the_last_written_counts() -> None:
    words = Words()
    points = merge(rows([1, 1, 1], [5.0, 7.0, 9.0], ["mean", "scalar", "scalar"], [0, 1, 2], words), words, {})
    assert points.value.tolist() == [8.0]


def test_infinities_average_to_what_they_are() -> None:
    words = Words()
    infinite = rows([1, 1, 2, 2], [math.inf, 1.0, math.inf, -math.inf], ["scalar"] * 4, [0, 1, 0, 1], words)
    points = merge(infinite, words, {})
    assert points.value[0] == math.inf and math.isnan(points.value[1])
    assert (points.low[0], points.high[0]) == (1.0, math.inf)
