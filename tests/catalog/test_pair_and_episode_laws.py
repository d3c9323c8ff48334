"""The laws of the entries that read pairs, episodes and seconds.

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
from rollscope.catalog.partials.partial import from_state
from rollscope.catalog.spec import METRICS

from .verl_step import VERL

FAMILIES = ("preference", "reward_model", "sft", "env", "time", "time_per_token", "perf", "engine")


def batch_of(seed: int, size: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    logps = {
        name: -40 * rng.random(size)
        for name in ("chosen_logp", "rejected_logp", "ref_chosen_logp", "ref_rejected_logp")
    }
    counts = {
        name: rng.integers(1, 30, size)
        for name in ("chosen_tokens", "rejected_tokens", "prompt_tokens", "response_tokens")
    }
    flags = {
        name: rng.integers(0, 2, size).astype(float)
        for name in ("success_once", "success_at_end", "fail_once", "fail_at_end", "intervened")
    }
    drafted = rng.integers(0, 9, size)
    return {
        **logps,
        **counts,
        **flags,
        "chosen_score": rng.normal(size=size),
        "rejected_score": rng.normal(size=size),
        "score_margin": rng.random(size),
        "episode_return": rng.random(size),
        "episode_len": rng.integers(0, 9, size),
        "intervened_steps": rng.integers(0, 5, size),
        "spec_drafted": drafted,
        "spec_accepted": np.minimum(drafted, rng.integers(0, 3, size)),
        "spec_verified": rng.integers(0, 5, size),
        "target_logp": -rng.random((size, 4)),
        "token_rewards": rng.random((size, 4)),
        "mask": rng.integers(0, 2, (size, 4)),
        "beta": 0.1,
        "gamma": 0.5,
        "label_smoothing": 0.1,
        "grad_norm": 1.5,
        "seconds": VERL["seconds"],
        "gpus": 8,
        "gpu_name": "NVIDIA H200",
        "model": VERL["qwen2"],
        "critic_model": VERL["qwen2"],
        "update_epochs": 2,
    }


def computed(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: partial for name, partial in rs.compute(batch).items() if name.split("/")[0] in FAMILIES}


def test_the_batch_reaches_every_computed_entry() -> None:
    metrics = computed(batch_of(0, 8))
    entries = [m for m in METRICS.values() if m.define is not None and m.section in FAMILIES]
    missing = [
        m.name for m in entries if not any(name == m.name or name.startswith(m.name.split("{")[0]) for name in metrics)
    ]
    assert missing == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 12), st.data())
def test_parts_merge_to_the_whole_in_any_order(seed: int, size: int, data: st.DataObject) -> None:
    batch = batch_of(seed, size)
    whole = computed(batch)
    order = np.array(data.draw(st.permutations(range(size))))
    cut = data.draw(st.integers(0, size))
    left, right = computed(take(batch, order[:cut])), computed(take(batch, order[cut:]))
    for name, partial in whole.items():
        merged = right[name] + left[name] if name in left and name in right else left.get(name, right.get(name))
        assert merged.value == pytest.approx(partial.value, rel=1e-9, abs=1e-9, nan_ok=True), name
        assert from_state(partial.kind, partial.state()).value == pytest.approx(partial.value, nan_ok=True), name


def test_no_samples_are_no_data() -> None:
    for name, partial in computed(batch_of(0, 0)).items():
        if not name.startswith(("time/", "reward_model/grad_norm")):  # these need no samples
            assert math.isnan(partial.value) and partial.weight == 0, name
