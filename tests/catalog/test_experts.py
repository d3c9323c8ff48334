"""Balance of experts and speculative decoding: veRL's numbers from routed experts and requests."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.partials.experts import count
from rollscope.errors import BadBatch

from .verl_step import VERL, agrees

ROUTED, MASK = np.array(VERL["routed_experts"]), np.array(VERL["response_mask"])
BATCH = {"routed_experts": ROUTED, "routed_mask": MASK, "num_experts": 8}


def test_verls_violations_from_routed_experts() -> None:
    assert agrees(rs.rename(rs.compute(BATCH), "verl"), VERL["moe"])


def test_counts_do_as_well() -> None:
    assert agrees(rs.rename(rs.compute({"expert_counts": count(ROUTED, MASK, 8)}), "verl"), VERL["moe"])


def test_parts_merge_to_the_whole() -> None:
    a, b = (
        rs.compute({"routed_experts": ROUTED[s], "routed_mask": MASK[s], "num_experts": 8})
        for s in (slice(0, 3), slice(3, 16))
    )
    assert agrees(rs.rename({name: a[name] + b[name] for name in a}, "verl"), VERL["moe"])


def test_the_last_token_of_a_sequence_was_never_routed() -> None:
    routed = np.zeros((1, 3, 1, 1), int)
    routed[0, 2] = 1
    assert count(routed, np.array([[1, 1, 1]]), 2).tolist() == [[2, 0]]
    assert count(routed, np.array([[0, 0, 0]]), 2).tolist() == [[0, 0]]


def test_nothing_routed_is_no_data() -> None:
    metrics = rs.compute({**BATCH, "routed_mask": np.zeros_like(MASK)})
    assert math.isnan(metrics["moe/violation_max"].value) and metrics["moe/violation_max"].weight == 0


@pytest.mark.parametrize(("change", "says"), [({"num_experts": 3}, "0 to 2"), ({"routed_mask": MASK[:, :-1]}, "shape")])
def test_an_error_names_the_wrong_key(change: dict, says: str) -> None:
    with pytest.raises(BadBatch, match=says):
        rs.compute({**BATCH, **change})


def test_speculative_decoding_pooled_and_per_request() -> None:
    metrics = rs.compute({"spec_drafted": [8, 4, 0], "spec_accepted": [6, 2, 0], "spec_verified": [2, 4, 0]})
    assert metrics["engine/spec_accept_rate"].value == pytest.approx(8 / 12)
    assert metrics["engine/spec_accept_length"].value == pytest.approx(1 + 8 / 6)
    named = rs.rename(metrics, "verl")
    assert named["rollout/spec_accept_rate"] == pytest.approx((6 / 8 + 2 / 4 + 0) / 3)
    assert named["rollout/spec_accept_length"] == pytest.approx((1 + 6 / 2 + 1 + 2 / 4 + 0) / 3)


def test_engine_series_find_their_entry() -> None:
    from rollscope.catalog.families.engine import PROMETHEUS, canonical

    assert canonical("vllm:num_requests_waiting") == "engine/requests_waiting"
    assert canonical("vllm:time_to_first_token_seconds/p95") == "engine/ttft_seconds/p95"
    assert canonical("vllm:num_preemptions_total/rate") == "engine/preemptions"
    assert canonical("my:own") == "my:own"
    assert all(rs.explain(name) for name in PROMETHEUS.values())
