"""Adding stored partials many at a time gives what the partials themselves give."""

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
def test_runs_of_rows_add_as_partials_do(kind: str, data: list[list[Any]]) -> None:
    runs = [[MAKE[kind](x) for x in run] for run in data]
    starts = np.cumsum([0, *(len(run) for run in runs)])
    value, weight = partial_sums.add(
        kind, states([part for run in runs for part in run]), starts[:-1], partial_sums.nothing_more
    )
    for i, (lo, hi) in enumerate(pairwise(starts.tolist())):
        assert hi - lo == len(runs[i])
        whole = runs[i][0]
        for part in runs[i][1:]:
            whole = whole + part
        assert value[i] == pytest.approx(whole.value, rel=1e-9, abs=1e-6, nan_ok=True)
        assert weight[i] == pytest.approx(whole.weight)


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


def test_a_kind_nobody_can_add_is_a_sentence_not_a_number() -> None:
    words = Words()
    found = rows([1, 1], [1.0, 2.0], ["from the future"] * 2, [0, 1], words)
    with pytest.raises(BadInput, match="from the future"):
        merge(found, words, {})


def test_of_two_kinds_in_a_step_the_last_written_stands() -> None:
    words = Words()
    found = merge(rows([1, 1, 1], [5.0, 7.0, 9.0], ["mean", "scalar", "scalar"], [0, 1, 2], words), words, {})
    assert found.value.tolist() == [8.0]


def test_infinities_average_to_what_they_are() -> None:
    words = Words()
    found = merge(
        rows([1, 1, 2, 2], [math.inf, 1.0, math.inf, -math.inf], ["scalar"] * 4, [0, 1, 0, 1], words), words, {}
    )
    assert found.value[0] == math.inf and math.isnan(found.value[1])
    assert (found.low[0], found.high[0]) == (1.0, math.inf)
