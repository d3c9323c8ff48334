"""The laws of the entries that are computed from samples.

Parts merge to the whole, the order of samples does not matter, and no data is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.catalog.compute.subset import take
from rollscope.catalog.partials.partial import Partial, from_state

MINE = (
    *(
        "reward",
        "score",
        "sample_metric",
        "task_",
        "advantage_sample",
        "group/",
        "length/",
        "stop/",
        "turns",
        "tool/",
        "sample_time/",
    ),
    *("staleness", "version_span", "discarded/", "samples/", "counter/", "pipeline/", "sampling/", "filter/"),
)


def batch_of(seed: int, size: int, fates: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)

    def some(x: Any) -> Any:
        return np.where(rng.random(size) < 0.1, math.nan, x)

    tokens = rng.integers(0, 9, size).astype(float)
    task = rng.integers(0, max(size // 3, 1), size)
    calls, searches = rng.integers(0, 4, size), rng.integers(0, 3, size)
    batch: dict[str, Any] = {
        "reward": some(rng.integers(-1, 3, size) / 2),
        "score": rng.random(size),
        "rewards": {"format": some(rng.random(size)), "judge": rng.random(size)},
        "sample_metrics": {"correct": some(rng.integers(0, 2, size))},
        "task": [f"t{i}" for i in task],
        "group": [f"g{i}" for i in task],
        "env": rng.choice(["a", "b"], size).tolist(),
        "advantages": some(rng.normal(size=size)),
        "prompt_tokens": rng.integers(1, 20, size),
        "completion_tokens": tokens,
        "response_tokens": tokens + rng.integers(0, 3, size),
        "max_completion_tokens": 8,
        "max_prompt_tokens": 19,
        "max_total_tokens": 20,
        "padded_prompt_tokens": 19,
        "padded_response_tokens": 9,
        "stop_reason": rng.choice(["stop", "length", "error", "max_turns"], size).tolist(),
        "turns": rng.integers(1, 5, size),
        "conversation_turns": rng.integers(2, 9, size),
        "tool_calls": calls,
        "tool_failures": np.minimum(calls, rng.integers(0, 2, size)),
        "tool_unknown": rng.integers(0, 2, size),
        "tools": {
            "search": {
                "calls": searches,
                "failures": np.minimum(searches, rng.integers(0, 2, size)),
                "seconds": rng.random(size),
            }
        },
        "generate_seconds": rng.random(size),
        "tool_seconds": some(rng.random(size)),
        "reward_seconds": rng.random(size),
        "run_seconds": rng.random(size),
        "task_seconds": rng.random(size),
        "num_preempted": rng.integers(-1, 3, size),
        "policy_version_now": 9,
        "policy_version_min": some(rng.integers(3, 8, size)),
        "policy_version_max": some(rng.integers(8, 10, size)),
        "filters": {"repetition": some(rng.integers(0, 2, size))},
        "reward_min": -0.5,
        "reward_max": 1.0,
        "metrics_ranges": {"format": (0, 1)},
        "tokens_before": 1000,
    }
    if fates:
        batch["trained"] = some(rng.integers(0, 2, size))
        batch["discard_reason"] = [
            ("" if t == 1 or t != t else r)
            for t, r in zip(batch["trained"], rng.choice(["zero_advantage", "max_async", ""], size), strict=True)
        ]
    return batch


def near(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def merged(parts: list[dict[str, Partial]]) -> dict[str, Partial]:
    whole: dict[str, Partial] = {}
    for part in parts:
        for name, partial in part.items():
            whole[name] = whole[name] + partial if name in whole else partial
    return whole


def mine(metrics: dict[str, Partial]) -> dict[str, Partial]:
    return {name: partial for name, partial in metrics.items() if name.startswith(MINE)}


def assert_equal(left: dict[str, Partial], right: dict[str, Partial]) -> None:
    assert left.keys() == right.keys()
    for name, partial in left.items():
        assert near(partial.value, right[name].value), (name, partial, right[name])
        assert near(partial.weight, right[name].weight), (name, partial, right[name])


@given(st.integers(0, 10_000), st.integers(2, 24), st.booleans(), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_parts_merge_to_the_whole_in_any_order(seed: int, size: int, fates: bool, ranks: int) -> None:
    batch = batch_of(seed, size, fates)
    where = np.random.default_rng(seed + 1).integers(0, ranks, size)
    parts = [
        mine(rs.compute(take(batch, np.flatnonzero(where == rank))))
        for rank in np.random.default_rng(seed + 2).permutation(ranks)
        if (where == rank).any()
    ]
    assert_equal(merged(parts), mine(rs.compute(batch)))


@pytest.mark.parametrize("fates", [False, True])
def test_the_order_of_samples_does_not_matter(fates: bool) -> None:
    batch = batch_of(7, 40, fates)
    shuffled = take(batch, np.random.default_rng(1).permutation(40))
    assert_equal(mine(rs.compute(shuffled)), mine(rs.compute(batch)))


@pytest.mark.parametrize("fates", [False, True])
def test_a_partial_comes_back_from_its_state(fates: bool) -> None:
    for name, partial in mine(rs.compute(batch_of(7, 40, fates))).items():
        again = from_state(partial.kind, partial.state())
        assert near(again.value, partial.value) and near(again.weight, partial.weight), name


def test_no_samples_are_no_data() -> None:
    batch = take(batch_of(7, 4, fates=True), np.arange(0))
    for name, partial in mine(rs.compute(batch)).items():
        assert partial.weight == 0, name
        assert math.isnan(partial.value) or name.startswith("counter/"), name


def test_every_name_here_is_one_of_the_catalogue() -> None:
    from rollscope.catalog.names.resolve import resolve

    for name in mine(rs.compute(batch_of(7, 40, fates=True))):
        assert resolve(name).via is None, name
