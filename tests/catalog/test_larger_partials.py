"""The laws of the partials of rates, loads, experts and evaluations.

They merge in any order and grouping, and come back from the state in the store.
"""

from __future__ import annotations

import itertools
import math
from functools import reduce
from operator import add

import pytest

from rollscope.catalog.partials import experts, per_task, rate
from rollscope.catalog.partials.partial import Partial, from_state
from rollscope.errors import BadInput

PARTS: dict[str, list[Partial]] = {
    "rate": [rate.Rate(10.0, 2.0), rate.Rate(30.0, 4.0), rate.Rate()],
    "cost": [rate.Cost(10.0, 2.0), rate.Cost(30.0, 4.0), rate.Cost()],
    "utilisation": [rate.Utilisation(1e12, 4e12), rate.Utilisation(2e12, 4e12), rate.Utilisation()],
    "utilisation without a peak": [rate.Utilisation(1e12, 4e12), rate.Utilisation(why=1.0), rate.Utilisation()],
    "experts": [experts.Overload.of([[4, 0], [1, 3]]), experts.Overload(), experts.Overload.of([[0, 4], [2, 2]])],
    "interval": [per_task.IntervalLow.of({t: (t / 7, 2.0)}) for t in range(3)],
    "a task on two ranks": [
        per_task.IntervalHigh.of({"a": (0.0, 1.0), "b": (1.0, 1.0)}),
        per_task.IntervalHigh.of({"a": (1.0, 3.0)}),
        per_task.IntervalHigh(),
    ],
    "missing": [
        per_task.Missing(((2.0, 0.0, 3.0),)),
        per_task.Missing(((4.0, 0.0, 1.0),)),
        per_task.Missing(((1.0, 8.0, 1.0),)),
    ],
}
PARTS |= {
    cls.__name__.lower(): [cls((1.0, 5.0)), cls((4.0,)), cls()]
    for cls in (rate.Loads, rate.Lightest, rate.Heaviest, rate.Gap, rate.Imbalance, rate.Evenness)
}
each = pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)


@each
def test_order_and_grouping_do_not_matter(parts: list[Partial]) -> None:
    whole = reduce(add, parts)
    for a, b, c in itertools.permutations(parts):
        for merged in ((a + b) + c, a + (b + c)):
            assert merged.value == pytest.approx(whole.value, nan_ok=True)


@each
def test_a_partial_comes_back_from_its_state(parts: list[Partial]) -> None:
    for partial in (*parts, reduce(add, parts)):
        again = from_state(partial.kind, partial.state())
        assert again.value == pytest.approx(partial.value, nan_ok=True) and again.weight == partial.weight
        assert all(isinstance(number, float) for number in partial.state())


@each
def test_no_data_is_nan_and_adds_nothing(parts: list[Partial]) -> None:
    empty = type(parts[0])()
    assert math.isnan(empty.value) and empty.weight == 0
    assert (parts[0] + empty).value == pytest.approx(parts[0].value, nan_ok=True)


def test_a_task_on_two_ranks_is_one_task_with_the_pooled_mean() -> None:
    merged = reduce(add, PARTS["a task on two ranks"])
    pooled = per_task.IntervalHigh.of({"a": (0.75, 4.0), "b": (1.0, 1.0)})
    assert merged.weight == 2 and merged.value == pytest.approx(pooled.value)


def test_missing_is_against_the_plan_or_the_fullest_task() -> None:
    assert reduce(add, PARTS["missing"]).value == 3 * (4 - 2) + 0 + (8 - 1)


def test_experts_of_different_models_do_not_add() -> None:
    with pytest.raises(BadInput, match="1 layers of 2 experts and 1 layers of 3 experts"):
        experts.Overload.of([[1, 1]]) + experts.Overload.of([[1, 1, 1]])
