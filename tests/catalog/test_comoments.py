"""Partials of two variables: pooled answers for any split, NaN if a variable does not vary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.catalog.partials.comoments import (
    EffectiveShare,
    ExplainedVariance,
    Pearson,
    PureNoise,
    ResidualVariance,
    StabilisedExplainedVariance,
)
from rollscope.catalog.partials.partial import from_state

RNG = np.random.default_rng(0)
X = RNG.normal(5, 2, 200)
Y = X + RNG.normal(0, 1, 200)

KNOWN = [
    (Pearson.of(X, Y), np.corrcoef(X, Y)[0, 1]),
    (ExplainedVariance.of(X, Y), 1 - np.var(X - Y) / np.var(X)),
    (ResidualVariance.of(X, Y), np.var(X - Y) / np.var(X)),
    (StabilisedExplainedVariance.of(X, Y), 1 - np.var(X - Y, ddof=1) / (np.var(X, ddof=1) + 1e-5)),
    (EffectiveShare.of(X), X.sum() ** 2 / (200 * np.square(X).sum())),
    (PureNoise(30.0, 10.0, 2.0), (3.0 - 2.0) / 9),
]


@pytest.mark.parametrize(("partial", "value"), KNOWN, ids=lambda p: type(p).__name__)
def test_it_is_the_textbook_number(partial: object, value: float) -> None:
    assert partial.value == pytest.approx(value)  # type: ignore[attr-defined]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 200), st.integers(0, 200))
def test_parts_merge_to_the_whole(a: int, b: int) -> None:
    a, b = sorted((a, b))
    for kind in (Pearson, ExplainedVariance, ResidualVariance):
        parts = [kind.of(X[i:j], Y[i:j]) for i, j in ((b, 200), (0, a), (a, b))]
        assert (parts[0] + (parts[1] + parts[2])).value == pytest.approx(kind.of(X, Y).value)


@pytest.mark.parametrize("kind", [Pearson, ExplainedVariance, ResidualVariance])
def test_a_constant_variable_gives_nan(kind: type[Pearson]) -> None:
    for x in (np.empty(0), np.ones(1), np.ones(5)):
        assert math.isnan(kind.of(x, x).value)


def test_equal_weights_are_fully_effective() -> None:
    assert EffectiveShare.of(np.full(7, 3.0)).value == pytest.approx(1.0)
    assert EffectiveShare.of(np.array([1.0, 0.0, 0.0, 0.0])).value == 0.25


@pytest.mark.parametrize(("partial", "value"), KNOWN, ids=lambda p: type(p).__name__)
def test_it_comes_back_from_its_state(partial: object, value: float) -> None:
    assert from_state(partial.kind, partial.state()) == partial  # type: ignore[attr-defined]
