"""Runs against a baseline: differences from rows of the list, never surer than they can be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rollscope.statistics import interval
from rollscope.views.compare.baseline import deltas


def row(id: str, configuration: str, value: Any, metric: str = "eval/gsm8k") -> dict[str, Any]:
    return {"id": id, "configuration": configuration, "eval": metric, "eval_value": value}


BASE = [row("a0", "a", 0.50), row("a1", "a", 0.52), row("b0", "b", 0.60), row("b1", "b", 0.61)]


def test_a_group_of_seeds_has_the_interval_of_welch() -> None:
    found = deltas(BASE, "a0")
    assert found is not None and found.metric == "eval/gsm8k"
    group = found.groups["b"]
    assert (group.difference, group.low, group.high) == pytest.approx(interval.welch([0.5, 0.52], [0.6, 0.61])[:3])


def test_one_run_is_judged_by_the_noise_of_repeats() -> None:
    found = deltas([*BASE, row("c0", "c", 0.7)], "a0")
    assert found is not None
    one = found.groups["c"]
    assert one.difference == pytest.approx(0.19) and one.low < one.difference < one.high


def test_without_a_repeat_nothing_says_how_sure_it_is() -> None:
    found = deltas([row("a0", "a", 0.5), row("b0", "b", 0.6)], "a0")
    assert found is not None and found.runs["b0"].difference == pytest.approx(0.1)
    assert math.isnan(found.runs["b0"].low)


@pytest.mark.parametrize("value", [None, "NaN", math.nan])
def test_a_run_without_a_number_has_no_difference(value: Any) -> None:
    found = deltas([*BASE, row("c0", "c", value), row("d0", "d", 0.7, "eval/other"), row("e0", "", 0.4)], "a0")
    assert found is not None and found.groups.keys() == {"b", "alone e0"}
    assert deltas(BASE, "gone") is None and deltas([row("a", "a", value)], "a") is None
