"""The statistics that rules share."""

from __future__ import annotations

import numpy as np
import pytest

from rollscope.diagnose import Series
from rollscope.diagnose.curves.ratio import ratio
from rollscope.diagnose.curves.window import level

values = np.random.default_rng(4).normal(size=60)


@pytest.mark.parametrize("width", [1, 2, 5, 20, 60, 70])
def test_a_level_is_the_median_of_the_last_points(width: int) -> None:
    expected = [np.median(values[max(0, end - width) : end]) for end in range(1, 61)]
    np.testing.assert_allclose(level(values, width), expected, rtol=1e-12)


def test_a_level_leaves_out_what_is_not_known() -> None:
    gap = values.copy()
    gap[10:12] = np.nan
    expected = [np.nanmedian(gap[max(0, end - 5) : end]) for end in range(1, 61)]
    np.testing.assert_allclose(level(gap, 5), expected, rtol=1e-12)


def test_a_ratio_is_known_at_the_steps_of_both() -> None:
    part, whole = Series.of([1, 2, 3], step=[0, 1, 2]), Series.of([2, 0, 4], step=[1, 2, 3])
    assert ratio(part, whole).step.tolist() == [1] and ratio(part, whole).value.tolist() == [1.0]
    assert ratio(part, part).value.tolist() == [1.0, 1.0, 1.0]


def test_values_at_its_own_steps_are_a_copy() -> None:
    series = Series.of([1, 2, 3])
    series.at(series.step)[0] = 9
    assert series.value[0] == 1
