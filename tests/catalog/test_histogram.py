"""Quantiles: exact for few values, from fixed buckets for many, and the same for any split.

Short floats stay exact in buckets; other values are off by a stated error.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.catalog.partials.histogram import BUCKETS, ERROR, EXACT, P05, P50, P95, Histogram, bucket_counts
from rollscope.catalog.partials.partial import from_state

numbers = st.floats(-(2.0**100), 2.0**100, width=32)


@settings(max_examples=60, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=40), st.integers(0, 40))
def test_any_split_and_order_give_the_same_buckets(x: list[float], cut: int) -> None:
    assert P50.of(x[:cut]) + P50.of(x[cut:]) == P50.of(x) == P50.of(x[cut:]) + P50.of(x[:cut])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32).filter(lambda v: v == 0 or abs(v) > 1e-6), min_size=1, max_size=60),
    st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
)
def test_a_quantile_is_within_the_stated_error(x: list[float], q: float) -> None:
    low, high = np.sort(x)[[math.floor(q * (len(x) - 1)), math.ceil(q * (len(x) - 1))]]
    quantile = Histogram.of_counts(min(x), max(x), bucket_counts(np.array(x))).quantile(q)
    slack = ERROR * max(abs(low), abs(high)) + 1e-12
    assert low - slack <= quantile <= high + slack


@pytest.mark.parametrize("n", [1, 2, 7, EXACT])
def test_few_values_are_exact(n: int) -> None:
    x = np.random.default_rng(n).lognormal(size=n)
    for q, histogram in ((0.05, P05.of(x)), (0.5, P50.of(x)), (0.95, P95.of(x))):
        assert histogram.value == pytest.approx(np.quantile(x, q), rel=1e-12) and histogram.weight == n


@pytest.mark.parametrize("n", [EXACT, EXACT + 1, 3 * EXACT])
def test_parts_merge_to_the_whole_on_both_sides_of_the_limit(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    for parts in (np.array_split(x, 2), np.array_split(x[::-1], 7)):
        merged = P95()
        for part in parts:
            merged = merged + from_state("p95", P95.of(part).state())
        assert merged == P95.of(x) and merged.value == pytest.approx(np.quantile(x, 0.95), rel=ERROR)


@pytest.mark.parametrize("x", [[0.0, 1.0, 1.0, 2.0], [0.25, 0.5, 0.75, 1.0], list(range(60)), [-3.0, -1.0, 4.0], [7.0]])
def test_short_floats_are_exact(x: list[float]) -> None:
    for q, histogram in ((0.05, P05.of(x)), (0.5, P50.of(x)), (0.95, P95.of(x))):
        assert histogram.value == pytest.approx(np.quantile(x, q))


def test_ends_are_kept_exactly() -> None:
    histogram = Histogram.of([0.1234567, 0.1234568])
    assert (histogram.quantile(0), histogram.quantile(1)) == (0.1234567, 0.1234568)


def test_infinities_and_zeros_have_buckets() -> None:
    x = [-math.inf, -0.0, 0.0, 1e-40, 3e38, math.inf]
    histogram = Histogram.of(x)
    assert histogram.weight == 6
    assert (histogram.quantile(0), histogram.quantile(1)) == (-math.inf, math.inf)


def test_a_nan_is_not_hidden() -> None:
    assert math.isnan((P50.of([1.0, math.nan]) + P50.of([1.0])).value)


def test_no_data_is_nan() -> None:
    assert math.isnan(P95.of([]).value) and P95.of([]).weight == 0


@pytest.mark.parametrize(
    "x",
    [
        [],
        [0.5],
        [1.0, 2.0],
        [0.0] * 30 + [1.0] * 31,
        np.random.default_rng(0).normal(size=300),
        np.random.default_rng(0).normal(size=900),
    ],
)
def test_it_comes_back_from_its_state(x: list[float]) -> None:
    assert from_state("p95", P95.of(x).state()) == P95.of(x)


def test_repeated_values_are_kept_once() -> None:
    assert len(P50.of([0.0] * 200 + [1.0] * 200).state()) == 5


def test_a_device_counts_as_the_host_does() -> None:
    x = np.random.default_rng(0).normal(0, 100, 5000).astype(np.float32)
    x[:3] = [np.inf, -np.inf, -0.0]
    assert np.array_equal(bucket_counts(torch.as_tensor(x)).numpy(), bucket_counts(x))
    assert len(bucket_counts(x)) == BUCKETS
