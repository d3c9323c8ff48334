"""The engine: blocks, devices, scopes and placeholders give the numbers of one pass."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import rollscope as rs
from rollscope.catalog.compute import block
from rollscope.catalog.compute.compute import _compute, compute
from rollscope.catalog.spec import METRICS


def tokens(rows: int, width: int, dtype: Any = np.float32, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shape = (rows, width)
    old = -rng.exponential(0.5, shape)
    given = {
        "logp": old + rng.normal(0, 0.05, shape),
        "old_logp": old,
        "ref_logp": old + rng.normal(0, 0.1, shape),
        "rollout_logp": old + rng.normal(0, 0.02, shape),
        "entropy": rng.exponential(0.5, shape),
        "advantages": rng.normal(size=shape),
        "values": rng.normal(size=shape),
        "old_values": rng.normal(size=shape),
        "returns": rng.normal(3, 1, size=shape),
    }
    given = {name: x.astype(dtype) for name, x in given.items()}
    sampled = rng.random(shape) < 0.9
    sampled[rows // 2] = False  # an aborted sample
    step = {
        "clip_low": 0.1,
        "clip_high": 0.1,
        "clip_c": 1.2,
        "is_cap": 1.05,
        "value_clip": 0.2,
        "ratio_level": "token",
        "score": rng.random(rows),
    }
    return given | {"action_mask": sampled, "mask": sampled & (rng.random(shape) < 0.95)} | step


def same(one: dict[str, Any], other: dict[str, Any], rel: float) -> None:
    assert set(one) == set(other)
    wrong = {
        n: (one[n].value, other[n].value)
        for n in one
        if other[n].value != pytest.approx(one[n].value, rel=rel, abs=rel, nan_ok=True)
    }
    assert not wrong


def test_blocks_give_what_one_pass_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = tokens(40, 64)
    whole = rs.compute(batch)
    monkeypatch.setattr(block, "POSITIONS", 200)
    same(whole, rs.compute(batch), 1e-9)


@pytest.mark.parametrize("masks", ["stretches", "scattered"])
def test_float32_in_blocks_agrees_with_float64_in_one(monkeypatch: pytest.MonkeyPatch, masks: str) -> None:
    batch = tokens(64, 256)
    if masks == "stretches":
        batch["mask"] = batch["action_mask"] = np.arange(256) < np.arange(64)[:, None] * 4
    exact = rs.compute(batch)
    monkeypatch.setattr(block, "SMALL", 0)
    monkeypatch.setattr(block, "POSITIONS", 4096)
    monkeypatch.setattr("rollscope.catalog.compute.compute.SMALL", 0)
    same(exact, rs.compute(batch), 2e-5)


@pytest.mark.parametrize("layout", ["padded", "packed", "ragged"])
def test_torch_gives_what_numpy_gives(layout: str) -> None:
    batch = tokens(12, 32)
    if layout != "padded":
        lengths = [32] * 12
        rows = {
            n: (np.concatenate(x) if layout == "packed" else list(x))
            for n, x in batch.items()
            if isinstance(x, np.ndarray) and x.ndim == 2
        }
        batch |= rows | ({"lengths": lengths} if layout == "packed" else {})

    def tensor(x: Any) -> Any:
        if isinstance(x, list) and x and isinstance(x[0], np.ndarray):
            return [torch.as_tensor(row) for row in x]
        return torch.as_tensor(x) if isinstance(x, np.ndarray) else x

    on_device = {name: tensor(x) for name, x in batch.items()}
    same(rs.compute(batch), _compute(on_device, None, None, keep_torch=True), 1e-6)


def test_tensors_come_over_once() -> None:
    """All results of a device come over in one transfer: no `.item()`, no second copy."""
    batch = {name: torch.as_tensor(x) if isinstance(x, np.ndarray) else x for name, x in tokens(12, 32).items()}

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        reads = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            Watch.reads += func is torch.ops.aten._local_scalar_dense.default
            return func(*args, **(kwargs or {}))

    with Watch():
        _compute(batch, None, None, keep_torch=True)
    assert Watch.reads == 0


def test_no_graph_is_kept() -> None:
    logp = torch.full((2, 3), -1.0, requires_grad=True)
    metrics = _compute({"logp": logp * 2, "old_logp": torch.full((2, 3), -1.0)}, None, None, keep_torch=True)
    assert all(isinstance(x, float) for p in metrics.values() for x in p.state())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_float_is_read(dtype: torch.dtype) -> None:
    metrics = rs.compute({"logp": torch.full((2, 3), -0.5, dtype=dtype)})
    assert metrics["policy/entropy_sampled"].value == 0.5


def test_large_means_do_not_swallow_small_spreads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollscope.catalog.compute.compute.SMALL", 0)
    values = (1000 + np.random.default_rng(0).normal(0, 0.1, (8, 4096))).astype(np.float32)
    assert rs.compute({"values": values})["critic/values/std"].value == pytest.approx(
        values.astype(np.float64).std(ddof=1), rel=1e-4
    )


def test_k3_keeps_its_digits_when_policies_are_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollscope.catalog.compute.compute.SMALL", 0)
    rng = np.random.default_rng(0)
    old = -rng.exponential(0.5, (64, 4096)).astype(np.float32)
    logp = old + rng.normal(0, 1e-3, old.shape).astype(np.float32)
    x = logp.astype(np.float64) - old
    assert rs.compute({"logp": logp, "old_logp": old})["policy/kl_update_k3"].value == pytest.approx(
        np.mean(np.expm1(x) - x), rel=1e-4
    )


def test_one_token_has_a_mean_and_no_spread() -> None:
    metrics = rs.compute({"advantages": [[2.0]], "mask": [[1]]})
    assert (metrics["advantage/mean"].value, metrics["advantage/p50"].value, metrics["advantage/max"].value) == (
        2.0,
        2.0,
        2.0,
    )
    assert math.isnan(metrics["advantage/std"].value)


@pytest.mark.parametrize(
    "mask", [np.zeros((2, 3)), np.zeros((2, 0)), np.zeros((0, 3))], ids=["all masked", "no positions", "no samples"]
)
def test_no_data_is_nan_with_no_weight(mask: np.ndarray[Any, Any]) -> None:
    batch = tokens(2, 3) | {"score": np.zeros(len(mask))}
    batch = {
        n: x[: mask.shape[0], : mask.shape[1]] if isinstance(x, np.ndarray) and x.ndim == 2 else x
        for n, x in batch.items()
    }
    metrics = rs.compute(batch | {"action_mask": mask, "mask": mask})
    about_tokens = {n: p for n, p in metrics.items() if n.startswith(("policy/", "critic/", "mismatch/", "advantage/"))}
    assert len(about_tokens) > 100
    # Their definitions count samples without tokens.
    with_empty = ("policy/reward_kl_penalty", "mismatch/rollout_corr", "policy/variance")
    assert {
        n: p.value for n, p in about_tokens.items() if not math.isnan(p.value) and not n.startswith(with_empty)
    } == {}
    assert {n for n, p in about_tokens.items() if p.weight and not n.startswith(with_empty)} == set()


def test_infinite_ratios_are_kept_not_clamped() -> None:
    metrics = rs.compute(
        {
            "logp": [[-0.1, -0.1]],
            "old_logp": [[-math.inf, -0.1]],
            "clip_low": 0.2,
            "clip_high": 0.2,
            "advantages": [1.0],
        }
    )
    assert metrics["policy/ratio/max"].value == math.inf
    assert metrics["policy/clip/high"].value == 0.5


def test_scoped_entries_follow_the_fate_of_the_samples() -> None:
    plain = rs.compute({"reward": [1.0, 0.0, 0.5]})
    fated = rs.compute({"reward": [1.0, 0.0, 0.5, 7.0], "trained": [True, False, True, None]})
    assert plain["reward/mean"].value == 0.5
    assert "reward/mean" not in fated
    assert {n: fated[n].value for n in ("reward/generated/mean", "reward/trained/mean", "discarded/reward/mean")} == {
        "reward/generated/mean": 0.5,
        "reward/trained/mean": 0.75,
        "discarded/reward/mean": 0.0,
    }


def test_a_discard_reason_alone_says_the_fate() -> None:
    fated = rs.compute({"reward": [1.0, 0.0], "discard_reason": ["", "zero_advantage"]})
    assert (fated["reward/trained/mean"].value, fated["discarded/reward/mean"].value) == (1.0, 0.0)


def test_asking_for_some_names_computes_those() -> None:
    assert set(rs.compute(tokens(3, 4), names=["policy/kl_ref_k3"])) == {"policy/kl_ref_k3"}


def test_a_definition_that_fails_costs_its_own_number_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from rollscope.catalog.compute import plan

    def broken(logp_A: Any) -> None:
        raise ZeroDivisionError("by hand")

    bad = METRICS["policy/kl_ref_k3"]
    monkeypatch.setitem(
        METRICS,
        "test/broken",
        type(bad)(**{f: getattr(bad, f) for f in bad.__slots__} | {"name": "test/broken", "define": broken}),
    )
    plan.plan_for.cache_clear()
    problems: list[str] = []
    metrics = rs.compute(tokens(3, 4), strict=False, problems=problems)
    plan.plan_for.cache_clear()
    assert "policy/kl_ref_k3" in metrics
    assert problems == ["test/broken could not be computed: ZeroDivisionError: by hand"]


def test_needs_are_batch_keys_through_derived_quantities() -> None:
    assert METRICS["policy/clip/low"].needs == ("logp", "old_logp", "clip_low", "advantages")


def test_importing_rollscope_imports_neither_torch_nor_families() -> None:
    code = (
        "import rollscope, sys; rollscope.compute; print([m for m in sys.modules if m == 'torch' or 'families' in m])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize("odd", [["a", "b"], [[1, 2], None], [{"x": 1}, {}], [[1, 2], [3]], [object(), None]])
def test_a_column_that_is_no_number_is_left_out_alone(odd):
    batch = {"reward": np.array([1.0, 0.0]), "sample_metrics": {"length": [3.0, 4.0], "odd": odd}}
    problems: list[str] = []
    names = compute(batch, strict=False, problems=problems)
    assert "sample_metric/length/mean" in names and not any("/odd/" in name for name in names)
    assert len(problems) == 1 and "sample_metrics['odd']" in problems[0]
