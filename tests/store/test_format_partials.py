"""docs/format.md lists every kind of partial, and its rules add them as the catalogue does."""

from __future__ import annotations

import math
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.catalog.partials.partial import KINDS, Partial, kind_of
from rollscope.catalog.partials.per_group import INNER, OUTER, Groups, PerGroup
from rollscope.catalog.partials.per_run import run_ids
from tests.store.second_groups import MEASURES
from tests.store.second_partials import KINDS as SECOND
from tests.store.second_partials import added

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
kind_of("")  # brings in the larger kinds
PAIRS, TRIPLES = ("mean", "ratio", "sum", "counter", "rate", "cost"), ("utilisation", "pure_noise")
SERIES = (
    "moments",
    "std",
    "std0",
    "variance",
    "min",
    "max",
    "extremes",
    "effective_share",
    "histogram",
    "p05",
    "p50",
    "p95",
)
COMOMENTS = ("pearson", "explained_variance", "residual_variance", "stabilised_explained_variance")
LOADS = ("loads", "lightest", "heaviest", "gap", "imbalance", "evenness")


def part(kind: str, random: np.random.Generator, size: int) -> Any:
    """A partial of this kind over `size` things."""
    cls: Any = KINDS[kind]
    x, y = random.normal(size=(2, size))
    if kind in PAIRS:
        return cls(float(abs(x).sum()), float(size))
    if kind in TRIPLES:
        return cls(float(abs(x).sum()), float(size), 0.25 if kind == "pure_noise" else float(size == 3))
    if kind in SERIES:
        x[: size == 9] = math.inf
        return cls.of(np.where(x > 0, np.round(x, 1), x))
    if kind in COMOMENTS or kind == "at_max":
        return cls.of(x, np.round(x + y, 1))
    if kind == "last":
        return cls(float(np.round(y.sum(), 1)), 1_700_000_000_000_000_000 + size) if size else cls()
    if kind in LOADS:
        return cls(tuple(abs(x).tolist()))
    if kind.startswith("interval"):
        return cls.of({f"t{i}": (float(x[i]), float(i + 1)) for i in range(size)})
    if kind == "per_run":
        tasks = [f"t{i % 3}" for i in range(size)]
        return cls.of(np.where(x > 1, math.nan, x), Groups(tasks), run_ids(tasks, [i % 2 for i in range(size)]), "max")
    if kind == "missing":
        return cls(tuple(sorted({(float(i), float(5 * (i % 2)), 2.0) for i in range(size)})))
    return cls.of(random.integers(0, 9, (2, 4)) * (size > 0))


def close(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def holds(kind: str, parts: list[Partial]) -> bool:
    whole = reduce(lambda a, b: a + b, parts)
    value, weight = added(kind, [list(part.state()) for part in parts])
    return close(value, whole.value) and close(weight, whole.weight)


@pytest.mark.parametrize(
    "sizes", [(0,), (1,), (7,), (0, 3), (2, 0, 5), (3, 3, 9), (9, 9), (9, 600), (300, 400), (600, 5)], ids=str
)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"per_group"}))
def test_a_kind_is_added_and_read_as_the_page_says(kind: str, sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(sum(sizes))
    assert holds(kind, [part(kind, random, size) for size in sizes])


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_groups_are_added_and_read_as_the_page_says(inner: str, outer: str) -> None:
    random = np.random.default_rng(0)
    for low, high in (
        (0.0, 1.0),
        (math.nan, math.nan),
        (math.nan, 1.0),
        (-1.0, math.nan),
        ([0.0] * 5 + [-2.0] * 5, 1.0),
    ):
        values = random.choice([0.0, 1.0, 1.0, 0.5, -0.5, math.nan], (3, 10))
        groups = [[f"g{i}" for i in random.integers(0, 6, 10)] for _ in values]
        parts: list[Partial] = [
            PerGroup.of(inner, x, group, low, high, outer) for x, group in zip(values, groups, strict=True)
        ]
        assert all(holds("per_group", parts[:n]) for n in (1, 2, 3)), (low, high)


def test_the_page_names_every_kind_and_measure() -> None:
    assert SECOND.keys() == KINDS.keys() and MEASURES == INNER
    named = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    missing = [kind for kind in KINDS if not any(f"`{kind.removesuffix('_mean')}`" in cell for cell in named)]
    assert missing == []
    assert [f"{i} `{name}`" for i, name in enumerate(INNER) if f"{i} `{name}`" not in PAGE] == []
