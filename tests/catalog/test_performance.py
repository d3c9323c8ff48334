"""Tokens, throughput and MFU: veRL's numbers, and NaN with a reason where veRL writes 0."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rollscope as rs
from rollscope.catalog.flops import peak_tflops, training_flops
from rollscope.catalog.partials.partial import from_state

from .verl_step import LENGTHS, VERL, agrees, near

FLOPS: dict[str, Any] = VERL["flops"]
STEP = {
    "prompt_tokens": [0] * 4,
    "response_tokens": FLOPS["batch_seqlens"],
    "gpus": 8,
    "gpu_name": "NVIDIA H100 80GB HBM3",
    "model": VERL["qwen2"],
}


def test_verls_throughput() -> None:
    assert agrees(
        rs.rename(rs.compute({**LENGTHS, "seconds": VERL["seconds"], "gpus": VERL["gpus"]}), "verl"), VERL["throughput"]
    )


def test_verls_flops_and_mfu() -> None:
    flops = training_flops(VERL["qwen2"], FLOPS["batch_seqlens"])
    assert flops is not None and flops / FLOPS["delta_time"] / 1e12 == near(FLOPS["estimated_tflops"])
    metrics = rs.compute({**STEP, "seconds": {"update_actor": FLOPS["delta_time"]}})
    assert rs.rename(metrics, "verl")["perf/mfu/actor"] == pytest.approx(FLOPS["mfu_on_8xH100_train"], rel=1e-5)


@pytest.mark.parametrize(("name", "tflops"), [(k, v) for k, v in FLOPS["promised_tflops"].items() if k != "unknown"])
def test_peaks_are_verls(name: str, tflops: float) -> None:
    assert peak_tflops(name) == tflops


def test_a_forward_pass_counts_a_third() -> None:
    metrics = rs.compute({**STEP, "seconds": {"update_actor": 3.0, "old_log_prob": 1.0}})
    assert metrics["perf/mfu/policy_infer"].value == pytest.approx(metrics["perf/mfu/policy"].value)


def test_epochs_multiply_the_work_of_the_update() -> None:
    once, twice = (
        rs.compute({**STEP, "seconds": {"update_actor": 1.0}, "update_epochs": n})["perf/mfu/policy"].value
        for n in (1, 2)
    )
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"gpu_name": "Voodoo 2"}, "table of peaks", id="unknown GPU"),
        pytest.param({"model": {"hidden_size": 64}}, "configuration lacks", id="unknown model"),
        pytest.param({"model": {}}, "configuration lacks", id="empty configuration"),
    ],
)
def test_an_unknown_utilisation_is_nan_with_a_reason(change: dict[str, Any], reason: str) -> None:
    mfu: Any = rs.compute({**STEP, **change, "seconds": {"update_actor": 1.0}})["perf/mfu/policy"]
    assert math.isnan(mfu.value) and mfu.weight == 0 and reason in mfu.reason
    again: Any = from_state(mfu.kind, (mfu + mfu).state())
    assert reason in again.reason


def test_a_stated_peak_goes_before_the_table() -> None:
    a = rs.compute({**STEP, "gpu_name": "Voodoo 2", "gpu_peak_tflops": 989.0, "seconds": {"update_actor": 1.0}})
    b = rs.compute({**STEP, "seconds": {"update_actor": 1.0}})
    assert a["perf/mfu/policy"].value == b["perf/mfu/policy"].value


def test_the_critic_has_a_model_of_its_own() -> None:
    seconds = {"update_critic": 1.0, "update_actor": 1.0}
    assert "perf/mfu/critic" not in rs.compute({**STEP, "seconds": seconds})
    assert rs.compute({**STEP, "critic_model": VERL["qwen2"], "seconds": seconds})["perf/mfu/critic"].value > 0


def test_parts_merge_to_the_whole_step() -> None:
    seconds = {"update_actor": 0.5, "step": 1.0}
    whole = rs.compute({**STEP, "seconds": seconds})
    parts = [
        rs.compute({**STEP, "prompt_tokens": [0] * len(x), "response_tokens": x, "seconds": seconds})
        for x in (FLOPS["batch_seqlens"][:1], FLOPS["batch_seqlens"][1:])
    ]
    for name in ("perf/tokens", "perf/throughput", "perf/mfu/policy"):
        assert (parts[0][name] + parts[1][name]).value == pytest.approx(whole[name].value), name
        assert from_state(whole[name].kind, whole[name].state()) == whole[name]


QWEN3_MOE = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "vocab_size": 151936,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "moe_intermediate_size": 768,
    "intermediate_size": 6144,
    "num_experts": 128,
    "num_experts_per_tok": 8,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "vocab_size": 129280,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "moe_intermediate_size": 2048,
    "intermediate_size": 18432,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        pytest.param(QWEN3_MOE, 3.3, id="mixture of experts"),
        pytest.param(DEEPSEEK, 37.5, id="latent attention"),
        pytest.param({"text_config": QWEN3_MOE}, 3.3, id="inside a vision model"),
        pytest.param({"parameters": 7e9}, 7.0, id="a number of parameters"),
    ],
)
def test_active_parameters_come_out_of_the_configuration(model: dict[str, Any], billions: float) -> None:
    flops = training_flops(model, [1.0])  # one token has next to no attention
    assert flops is not None and flops / 6e9 == pytest.approx(billions, rel=0.05)


def test_a_sliding_window_bounds_attention() -> None:
    dense = {**VERL["qwen2"], "num_hidden_layers": 2}
    window = {**dense, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 128}
    n, w = 4096, 128
    less = training_flops(dense, [n]) - training_flops(window, [n])  # type: ignore[operator]
    assert less == pytest.approx(6 * (n * n - n * w) * 64 * 14)


def test_without_seconds_of_the_step_there_is_no_throughput() -> None:
    assert "perf/throughput" not in rs.compute({**LENGTHS, "seconds": {"gen": 1.0}, "gpus": 8})


def test_no_samples_are_no_data() -> None:
    metrics = rs.compute(
        {**STEP, "prompt_tokens": [], "response_tokens": [], "seconds": {"update_actor": 1.0, "step": 2.0}}
    )
    assert all(
        math.isnan(metrics[name].value) and metrics[name].weight == 0
        for name in ("perf/tokens", "perf/throughput", "perf/mfu/policy")
    )
