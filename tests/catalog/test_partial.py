"""Partials merge to the whole in any order and split, and come back from their state."""

from __future__ import annotations

import math
import re
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.catalog.partials.moments import Moments, PopulationStd, Std
from rollscope.catalog.partials.partial import Counter, Extremes, Last, Max, Mean, Min, Ratio, Sum, from_state
from rollscope.errors import RollscopeError

MAKE = {  # partial -> (how to make it from numbers, its value by numpy)
    Mean: (lambda x: Mean(math.fsum(x), len(x)), np.mean),
    Moments: (Moments.of, np.mean),
    Std: (Std.of, lambda x: np.std(x, ddof=1) if len(x) > 1 else math.nan),
    PopulationStd: (PopulationStd.of, np.std),
    Extremes: (Extremes.of, np.max),
    Max: (Max.of, np.max),
    Min: (Min.of, np.min),
    Sum: (Sum.of, np.sum),
    Ratio: (lambda x: Ratio(math.fsum(x), len(x)), np.mean),
}
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)
each = pytest.mark.parametrize("cls", MAKE, ids=lambda c: c.__name__)


@each
@given(x=NUMBERS, cuts=st.lists(st.integers(0, 40), max_size=4), seed=st.integers(0, 99))
def test_parts_in_any_order_read_as_the_whole(cls: type, x: list[float], cuts: list[int], seed: int) -> None:
    make, truth = MAKE[cls]
    bounds = sorted({0, len(x), *(min(c, len(x)) for c in cuts)})
    parts = [make(x[a:b]) for a, b in pairwise(bounds)]
    np.random.default_rng(seed).shuffle(parts)
    whole = reduce(lambda a, b: a + b, parts)
    assert whole.value == pytest.approx(float(truth(x)), rel=1e-9, abs=1e-6, nan_ok=True)
    assert whole.weight == len(x)


@each
def test_no_data_is_nan_and_adds_nothing(cls: type) -> None:
    some = MAKE[cls][0]([1.0, 2.0])
    assert math.isnan(cls().value) and cls().weight == 0
    assert (cls() + some).value == some.value == (some + cls()).value


@each
@given(x=NUMBERS)
def test_a_partial_comes_back_from_its_state(cls: type, x: list[float]) -> None:
    before = MAKE[cls][0](x)
    after = from_state(before.kind, before.state())
    assert type(after) is cls and after == before


def test_moments_stay_exact_far_from_zero() -> None:
    x = 1e9 + np.arange(1000) % 2
    assert (Std.of(x[:500]) + Std.of(x[500:])).value == pytest.approx(np.std(x - 1e9, ddof=1), rel=1e-9)


def test_one_value_has_no_spread() -> None:
    assert math.isnan(Std.of([3.0]).value) and PopulationStd.of([3.0]).value == 0


def test_the_later_reading_wins_in_any_order() -> None:
    early, late = Last(1.0, 10), Last(2.0, 1763174400123456789)
    assert (early + late) == (late + early) == late
    assert from_state("last", late.state()) == late, "nanoseconds survive the doubles of the state"


def test_a_tie_of_two_readings_does_not_depend_on_the_order() -> None:
    a, b = Last(1.0, 5), Last(2.0, 5)
    assert a + b == b + a


def test_a_counter_adds_what_every_part_counted_to_what_was_there() -> None:
    assert (Counter(100, 5) + Counter(100, 7)).value == 112


def test_a_logged_nan_is_not_lost_in_the_extremes() -> None:
    assert math.isnan((Max.of([1.0, math.nan]) + Max.of([2.0])).value)


def test_an_unknown_kind_says_what_is_known() -> None:
    with pytest.raises(RollscopeError, match="no partial is called 'sketch'"):
        from_state("sketch", ())


def test_every_file_that_defines_a_kind_is_found_from_its_state() -> None:
    import rollscope.catalog.partials.partial as partial

    folder = Path(partial.__file__).parent
    homes = {path.stem for path in folder.glob("*.py") if re.search(r"^@kind\(", path.read_text(), re.M)}
    assert homes - {"partial"} == set(partial.HOMES)


@pytest.mark.parametrize(
    "x, mean",
    [([1.0, math.inf], math.inf), ([-math.inf, -math.inf, 2.0], -math.inf), ([math.inf, -math.inf], math.nan)],
)
def test_an_infinity_has_a_mean_and_no_spread(x: list[float], mean: float) -> None:
    merged = Moments.of(x[:1]) + Moments.of(x[1:])
    assert (Moments.of(x).value, merged.value) == pytest.approx((mean, mean), nan_ok=True)
    assert math.isnan(merged.std())
