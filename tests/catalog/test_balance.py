"""Balance over ranks: veRL's numbers, and a partitioner that is at least as even."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.catalog.partition import chunks, partition
from rollscope.errors import BadBatch

from .verl_step import LENGTHS, VERL, agrees


def test_verls_balance_from_its_own_partition() -> None:
    metrics = rs.compute({**LENGTHS, "dp_size": 4, "partition": VERL["partitions"]})
    assert agrees(rs.rename(metrics, "verl"), VERL["seqlen"])
    assert metrics["balance/after/spread"].value == 49 - 45


def test_the_number_of_ranks_follows_from_the_partition() -> None:
    assert agrees(rs.rename(rs.compute({**LENGTHS, "partition": VERL["partitions"]}), "verl"), VERL["seqlen"])


def test_our_partitioner_is_at_least_as_even_as_verls() -> None:
    metrics = rs.compute({**LENGTHS, "dp_size": 4})
    assert (
        metrics["balance/after/spread"].value
        <= VERL["seqlen"]["global_seqlen/balanced_max"] - VERL["seqlen"]["global_seqlen/balanced_min"]
    )
    assert metrics["balance/before/spread"].value == VERL["seqlen"]["global_seqlen/minmax_diff"]


def test_without_ranks_there_is_no_balance() -> None:
    assert not any(name.startswith("balance/") for name in rs.compute(LENGTHS))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5000), max_size=60), st.integers(1, 9))
def test_a_partition_holds_everything_once_in_equal_numbers(lengths: list[int], ranks: int) -> None:
    parts = partition(lengths, ranks)
    assert len(parts) == ranks and sorted(i for part in parts for i in part) == list(range(len(lengths)))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert partition(lengths, ranks) == parts


@pytest.mark.parametrize(("n", "ranks"), [(64, 8), (256, 16), (512, 8)])
def test_many_sequences_are_dealt_almost_evenly(n: int, ranks: int) -> None:
    lengths = np.random.default_rng(0).lognormal(6, 1, n).astype(int)
    loads = [int(lengths[part].sum()) for part in partition(lengths.tolist(), ranks)]
    before = chunks(lengths.tolist(), ranks)
    assert max(loads) - min(loads) <= 0.01 * (max(before) - min(before)) + 1


@pytest.mark.parametrize(
    ("lengths", "ranks", "loads"),
    [
        pytest.param([5, 5, 5, 5, 5], 2, [15, 10], id="one more on the first ranks"),
        pytest.param([7, 3], 4, [7, 3, 0, 0], id="fewer samples than ranks"),
        pytest.param([], 3, [0, 0, 0], id="nothing"),
    ],
)
def test_chunks_are_contiguous_and_as_even_in_number_as_can_be(
    lengths: list[float], ranks: int, loads: list[float]
) -> None:
    assert chunks(lengths, ranks) == loads


def test_loads_of_micro_batches_add_rank_by_rank() -> None:
    a = rs.compute({"prompt_tokens": [1, 1], "response_tokens": [4, 2], "partition": [[0], [1]]})
    b = rs.compute({"prompt_tokens": [1, 1], "response_tokens": [1, 3], "partition": [[0], [1]]})
    assert (a["balance/after/spread"].value, (a["balance/after/spread"] + b["balance/after/spread"]).value) == (2, 0)


def test_imbalance_is_what_the_average_rank_waits() -> None:
    metrics = rs.compute({"prompt_tokens": [0, 0], "response_tokens": [30, 10], "dp_size": 2})
    assert metrics["balance/after/imbalance"].value == 0.5 and metrics["balance/after/evenness"].value == pytest.approx(
        1 / 3
    )


@pytest.mark.parametrize("parts", [[[0], [0]], [[0, 1], [2, 5]], [[0]]], ids=["twice", "out of range", "left out"])
def test_a_wrong_partition_is_rejected(parts: Any) -> None:
    with pytest.raises(BadBatch, match="exactly one part"):
        rs.compute({"prompt_tokens": [1, 1], "response_tokens": [1, 1], "partition": parts})


def test_no_samples_are_no_data() -> None:
    metrics = rs.compute({"prompt_tokens": [], "response_tokens": [], "dp_size": 2})
    assert all(math.isnan(m.value) for name, m in metrics.items() if name.startswith("balance/"))
