"""Groups: Gini by its definition, what counts as no spread, one answer for any split and order."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.catalog.partials.group_statistics import MOMENTS
from rollscope.catalog.partials.partial import from_state
from rollscope.catalog.partials.per_group import INNER, OUTER, PerGroup, group_ids

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)) | st.sampled_from(
    [0.0, 1.0, -1.0, math.nan, -0.0]
)


def by_pairs(x: list[float], low: float = 0.0) -> float:
    """The definition: the mean difference of all pairs."""
    shifted = [v - low for v in x]
    n, mean = len(shifted), sum(shifted) / len(shifted)
    return sum(abs(a - b) for a in shifted for b in shifted) / (2 * n * n * mean) if mean else 0.0


def one(inner: str, values: list[float], **more: Any) -> float:
    return PerGroup.of(inner, values, ["g"] * len(values), **more).value


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def near(a: float, b: float) -> bool:
    return same(a, b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e3).map(lambda x: round(x, 4)), min_size=2, max_size=12))
def test_gini_is_the_mean_difference_of_all_pairs(x: list[float]) -> None:
    assert one("gini", x) == pytest.approx(by_pairs(x), abs=1e-9)
    assert -1e-12 <= one("gini", x) <= (len(x) - 1) / len(x) + 1e-12


@pytest.mark.parametrize(
    "values, low, expected",
    [
        pytest.param([1, 0, 0, 0], math.nan, 0.75, id="one holds everything: (n - 1) / n"),
        pytest.param([1, 1, 1, 1], math.nan, 0.0, id="all equal"),
        pytest.param([0, 0, 0], math.nan, 0.0, id="all zero is all equal"),
        pytest.param([0.1, 0.1, 0.1], math.nan, 0.0, id="equal and not exact in binary"),
        pytest.param([1, -1], math.nan, math.nan, id="negative without a declared minimum"),
        pytest.param([1, -1], -1.0, 0.5, id="negative with a declared minimum"),
        pytest.param([-1, -1], -1.0, 0.0, id="all at the declared minimum"),
        pytest.param([1, -2], -1.0, math.nan, id="below the declared minimum"),
        pytest.param([2, 3], 1.0, by_pairs([2, 3], 1.0), id="shifted by the declared minimum"),
        pytest.param([5], math.nan, math.nan, id="one member"),
        pytest.param([1, math.nan], math.nan, math.nan, id="one member with a value"),
        pytest.param([1, 0, math.nan], math.nan, 0.5, id="a member without a value is left out"),
        pytest.param([float(np.float32(-0.1)), 1.0], -0.1, 0.5, id="a float32 bound just below the declared one"),
    ],
)
def test_gini_of_a_group(values: list[float], low: float, expected: float) -> None:
    assert one("gini", values, low=low) == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize(
    "inner, values, expected",
    [
        ("zero_spread", [1.0, 1.0], 1.0),
        ("zero_spread", [1.0, 1.0 + 1e-7], 1.0),
        ("zero_spread", [1.0, 1.0 - 1e-5], 0.0),
        ("zero_spread", [1.0], math.nan),
        ("mixed", [1.0, 0.0], 1.0),
        ("mixed", [0.5, 0.5], 0.0),
        ("all_pass", [1.0, 1.0], 1.0),
        ("all_pass", [1.0, 0.9], 0.0),
        ("all_pass", [0.5, 0.5], 0.0),
        ("all_fail", [0.0, 0.0], 1.0),
        ("all_fail", [0.5, 0.5], 0.0),
        ("any_pass", [0.0, 1.0], 1.0),
        ("any_pass", [0.0, 0.5], 0.0),
        ("std", [1.0, 0.0], math.sqrt(0.5)),
        ("std", [1.0], math.nan),
        ("std0", [1.0, 0.0], 0.5),
        ("cv", [100.0, 300.0], math.sqrt(20000) / 200),
        ("cv", [0.0, 0.0], math.nan),
        ("max_median", [100.0, 100.0, 120.0, 600.0], 600 / 110),
        ("max_median", [0.0, 0.0], 1.0),
        ("max_median", [0.0, 0.0, 7.0], math.nan),
        ("max_median", [7.0], 1.0),
        ("size", [1.0, 2.0, 3.0], 3.0),
        ("spread", [1.0, 4.0], 3.0),
    ],
)
def test_a_statistic_of_a_group_with_rewards_from_0_to_1(inner: str, values: list[float], expected: float) -> None:
    assert one(inner, values, low=0.0, high=1.0) == pytest.approx(expected, nan_ok=True)


def test_without_a_declared_range_no_spread_is_a_millionth_of_the_observed_one() -> None:
    groups = ["a", "a", "b", "b"]
    assert PerGroup.of("zero_spread", [0.0, 1e-4, 0.0, 1000.0], groups).value == 0.5
    assert PerGroup.of("zero_spread", [0.0, 1e-4, 0.0, 1.0], groups).value == 0.0


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), numbers), max_size=40),
    st.randoms(use_true_random=False),
    st.sampled_from(INNER),
    st.sampled_from(OUTER),
    st.integers(1, 4),
)
def test_any_split_over_ranks_and_any_order_gives_the_same_answer(
    rows: list[tuple[int, float]], random: Any, inner: str, outer: str, ranks: int
) -> None:
    whole = PerGroup.of(inner, [x for _, x in rows], [g for g, _ in rows], low=-1.0, high=1.0, outer=outer)
    parts: list[list[tuple[int, float]]] = [[] for _ in range(ranks)]
    for row in random.sample(rows, len(rows)):
        random.choice(parts).append(row)
    partials = [
        PerGroup.of(inner, [x for _, x in part], [g for g, _ in part], low=-1.0, high=1.0, outer=outer)
        for part in parts
    ]
    merged = PerGroup(inner, outer)
    for partial in random.sample(partials, len(partials)):
        merged = merged + partial
    assert merged.weight == whole.weight and merged.not_counted == whole.not_counted
    if inner in MOMENTS:
        assert near(merged.value, whole.value)
    else:
        assert same(merged.value, whole.value)
        assert np.array_equal(merged.state(), whole.state(), equal_nan=True)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), numbers), max_size=20), st.sampled_from(INNER))
def test_a_partial_comes_back_from_its_state(rows: list[tuple[int, float]], inner: str) -> None:
    partial = PerGroup.of(inner, [x for _, x in rows], [g for g, _ in rows])
    again = from_state("per_group", partial.state())
    assert same(again.value, partial.value) and again.weight == partial.weight
    assert all(isinstance(number, float) for number in partial.state())


def test_a_statistic_of_the_ends_stores_only_the_ends() -> None:
    rewards = np.arange(1000) % 2
    sizes = {
        inner: len(PerGroup.of(inner, rewards, np.zeros(1000)).state())
        for inner in ("size", "zero_spread", "std", "gini")
    }
    assert sizes == {"size": 8, "zero_spread": 10, "std": 10, "gini": 1008}


def test_ranges_that_differ_between_groups_survive_the_store() -> None:
    partial = PerGroup.of("all_pass", [2, 2, 1, 1], [0, 0, 1, 1], low=0, high=[2, 2, 1, 1])
    assert from_state("per_group", partial.state()).value == partial.value == 1


def test_a_group_is_the_same_in_every_process_and_fits_a_double() -> None:
    ids = group_ids(["a", "b", 3, 3.0, "3"])
    assert ids[2] == ids[3] == ids[4] and len(set(ids)) == 3
    assert all(0 <= i < 2**53 and i == int(i) for i in ids)
    assert group_ids(["countdown-17"])[0] == 2121803560017491.0  # stored states hold these numbers


def test_two_statistics_do_not_merge() -> None:
    with pytest.raises(AssertionError, match="two statistics"):
        PerGroup.of("gini", [1.0], ["a"]) + PerGroup.of("mean", [1.0], ["a"])


def test_groups_for_which_gini_is_not_defined_are_counted_apart() -> None:
    metrics = rs.compute({"reward": [1, 0, 1, -1, 5], "group": ["a", "a", "b", "b", "c"]})
    assert metrics["group/reward_gini"].value == 0.5 and metrics["group/reward_gini"].weight == 1
    assert metrics["group/not_counted"].value == 2 and metrics["group/not_counted"].weight == 3


def test_every_environment_has_its_own_range() -> None:
    batch = {
        "reward": [2, 2, 1, 1, 1, 1],
        "group": [0, 0, 1, 1, 2, 2],
        "env": ["two", "two", "two", "two", "one", "one"],
    }
    metrics = rs.compute({**batch, "reward_ranges": {"two": (0, 2), "one": (0, 1)}})
    assert metrics["group/all_pass"].value == pytest.approx(2 / 3)
    assert metrics["reward/passed"].value == pytest.approx(4 / 6)
    metrics = rs.compute({**batch, "reward_min": 0, "reward_max": [2, 2, 2, 2, 1, 1]})
    assert metrics["group/all_pass"].value == pytest.approx(2 / 3)
    assert metrics["group/all_fail"].value == 0


def test_without_a_declared_range_no_group_passes_or_fails() -> None:
    metrics = rs.compute({"reward": [1, 1, 0, 0], "group": [0, 0, 1, 1]})
    assert not {"group/all_pass", "group/all_fail", "group/any_pass", "reward/passed"} & set(metrics)
    assert metrics["group/zero_spread"].value == 1 and metrics["group/mixed"].value == 0


def test_a_task_stands_in_for_a_group() -> None:
    metrics = rs.compute({"reward": [1, 0, 1, 1], "task": ["p", "p", "q", "q"]})
    assert metrics["group/zero_spread"].value == 0.5 and metrics["group/count"].value == 2


def test_the_expected_share_comes_from_earlier_attempts_only() -> None:
    batch = {"reward": [1] * 12, "group": list("aaaabbbbcccc")}
    assert "group/zero_spread_expected" not in rs.compute(batch)
    metrics = rs.compute({**batch, "task_pass_rate": [0.9] * 4 + [0.5] * 4 + [math.nan] * 4})
    expected = metrics["group/zero_spread_expected"]
    assert expected.value == pytest.approx(((0.9**4 + 0.1**4) + 2 * 0.5**4) / 2)
    assert expected.weight == 2


def test_group_metrics_split_over_ranks_merge_to_the_whole_step() -> None:
    rng = np.random.default_rng(3)
    batch = {
        "reward": rng.integers(0, 2, 64).astype(float),
        "group": rng.integers(0, 9, 64),
        "completion_tokens": rng.integers(0, 500, 64),
        "rewards": {"format": rng.random(64)},
        "sample_metrics": {"acc": rng.random(64)},
        "task_pass_rate": rng.random(64),
        "reward_min": 0.0,
        "reward_max": 1.0,
    }
    whole = rs.compute(batch)
    cuts = [np.arange(0, 20), np.arange(20, 21), np.arange(21, 64)]
    parts = [
        rs.compute(
            {
                k: {n: c[cut] for n, c in v.items()} if isinstance(v, dict) else v if isinstance(v, float) else v[cut]
                for k, v in batch.items()
            }
        )
        for cut in cuts
    ]
    for name in (name for name in whole if name.startswith(("group/", "task_"))):
        merged = parts[0][name] + parts[1][name] + parts[2][name]
        if "zero_spread_expected" not in name:  # real pass rates do not differ within a group
            assert near(merged.value, whole[name].value), name


def test_lengths_within_a_group_count_aborted_members_as_zero() -> None:
    metrics = rs.compute({"completion_tokens": [0, 10, 10, 10], "group": [1, 1, 1, 1]})
    assert metrics["group/length_gini"].value == pytest.approx(by_pairs([0, 10, 10, 10]))
    assert metrics["group/length_max_median"].value == 1.0


def test_telescopes_names_read_the_kept_and_the_discarded_groups() -> None:
    batch = {
        "reward": [1, 0, 0, 0, 1, 1, 1, 1],
        "group": list("aaaabbbb"),
        "completion_tokens": [10, 20, 30, 40, 5, 5, 5, 5],
        "trained": [1] * 4 + [0] * 4,
        "discard_reason": [""] * 4 + ["zero_advantage"] * 4,
        "sample_metrics": {"acc": [1, 0, 0, 0, 1, 1, 1, 1]},
    }
    named = rs.rename(rs.compute(batch), "telescope")
    assert named["reward_gini_mean"] == 0.75 and named["discarded_reward_gini_mean"] == 0
    assert named["reward_acc_gini_mean"] == 0.75 and named["discarded_reward_acc_gini_mean"] == 0
    assert named["group_length_gini_mean"] == pytest.approx(by_pairs([10, 20, 30, 40]))
    assert named["group_length_max_median_ratio_mean"] == pytest.approx(40 / 25)
    assert named["discarded_group_length_max_median_ratio_mean"] == 1
    assert named["group_length_cv_mean"] == pytest.approx(np.std([10, 20, 30, 40], ddof=1) / 25)


def test_every_pairing_of_inner_and_outer_reads_an_empty_step_as_no_data() -> None:
    for inner, outer in itertools.product(INNER, OUTER):
        assert math.isnan(PerGroup(inner, outer).value) and PerGroup(inner, outer).weight == 0
