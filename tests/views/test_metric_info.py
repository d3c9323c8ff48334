"""Units and ranges of names: those of the entry that a name means, and what was declared for it."""

from __future__ import annotations

from typing import Any

import pytest

import rollscope as rs
from rollscope.catalog.names.resolve import resolve
from rollscope.views.dictionary import meaning
from rollscope.views.metric_info import range_of
from rollscope.views.run import CatalogNames
from tests.catalog.whole_world import whole_world

NAMES = sorted({name for fates in (True, False) for name in rs.compute(whole_world(0, 12, fates))})
DECLARED: dict[str, Any] = {
    "reward_min": -1,
    "reward_max": 4,
    "environments": {
        "a": {"reward_min": 0, "reward_max": 2, "metrics_ranges": {"correct": (0, 10), "format": (-3, 3)}},
        "b": {"reward_min": -1, "reward_max": 1},
    },
}


def declared(name: str) -> list[float | None] | None:
    shown, source = range_of(name, meaning(name), DECLARED)
    return shown if source == "declared" else None


def test_a_name_has_the_unit_of_the_entry_it_means() -> None:
    names = CatalogNames().of(NAMES, {})
    assert {n: names.unit(n) for n in NAMES} == {n: resolve(n).entry.unit for n in NAMES}
    assert names.unit("group/reward_std/generated/mean") == "reward" and names.unit("my/own") == ""


def test_a_declared_range_is_put_only_on_what_has_its_scale() -> None:
    """Not on a Gini, a spread, a share or a count of the same values."""
    ranged = {name: resolve(name) for name in NAMES if declared(name) is not None}
    assert {match.entry.unit for match in ranged.values()} <= {"reward", "score", "as logged"}
    assert not [name for name in ranged if "gini" in name or name.endswith(("/std", "/missing"))]
    assert {match.stat for match in ranged.values()} <= {"", "mean", "min", "max", "p05", "p50", "p95"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sample_metric/correct/mean", [0, 10]),
        ("sample_metric/correct/trained/max", [0, 10]),
        ("task_metric/correct/mean", [0, 10]),
        ("reward_component/format/mean", [-3, 3]),
        ("group/sample_metric_gini/correct", None),
        ("group/component_gini/format", None),
        ("reward_component/format/missing", None),
        ("pipeline/operator_metric/correct", None),
        ("reward_env/a/mean", [0, 2]),
        ("reward_env/b/max", [-1, 1]),
        ("reward_env/unknown/mean", [-1, 4]),
        ("reward/mean", [-1, 4]),
        ("task_reward/mean", [-1, 4]),
        ("reward/std", None),
    ],
)
def test_the_range_of(name: str, expected: list[float] | None) -> None:
    assert declared(name) == expected


def test_a_gini_is_drawn_from_0_to_1() -> None:
    assert range_of("group/sample_metric_gini/correct", meaning("group/sample_metric_gini/correct"), DECLARED) == (
        [0, 1],
        "natural",
    )
