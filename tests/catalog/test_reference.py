"""The definitions once more, as plain loops and numpy without the engine.

Every layout must give these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import rollscope as rs

SEEDS = range(12)
LOW, HIGH, C = 0.2, 0.25, 1.5
KEYS = {
    "logp": "logp",
    "old": "old_logp",
    "ref": "ref_logp",
    "rollout": "rollout_logp",
    "entropy": "entropy",
    "a": "advantages",
    "returns": "returns",
    "values": "old_values",
}


def world(seed: int) -> SimpleNamespace:
    """A batch with tool text, filtered tokens, aborted samples and filtered samples."""
    rng = np.random.default_rng(seed)
    samples, width = int(rng.choice([1, 3, 9])), int(rng.integers(1, 9))
    lengths = rng.integers(0, width + 1, samples)
    w = SimpleNamespace(seed=seed, lengths=lengths, valid=np.arange(width) < lengths[:, None])
    w.action = w.valid & (rng.random((samples, width)) > 0.2)
    w.loss = w.action & (rng.random((samples, width)) > 0.2) & (rng.random((samples, 1)) > 0.2)
    w.logp = -np.abs(rng.normal(size=(samples, width)))
    w.old, w.ref = w.logp + rng.normal(0, 0.3, w.logp.shape), w.logp + rng.normal(0, 0.3, w.logp.shape)
    w.rollout = w.old + rng.normal(0, 0.1, w.logp.shape)
    w.entropy, w.returns, w.values = (np.abs(rng.normal(size=w.logp.shape)) for _ in range(3))
    w.a = np.round(rng.normal(size=w.logp.shape), 1) * (rng.random((samples, 1)) > 0.2)
    w.ratio = np.exp(w.logp - w.old)
    return w


def mean(x: Any) -> float:
    x = list(x)
    return sum(x) / len(x) if x else math.nan


def x(w: SimpleNamespace, p: str, q: str) -> np.ndarray[Any, Any]:
    """log q - log p on the tokens the policy sampled, drawn from p."""
    difference: np.ndarray[Any, Any] = (getattr(w, q) - getattr(w, p))[w.action]
    return difference


def losses(w: SimpleNamespace) -> list[list[float]]:
    """PPO's clipped loss of the tokens in the loss, by sample; samples without any are left out."""
    rows = []
    for r, a, m in zip(w.ratio, w.a, w.loss, strict=True):
        row = []
        for ratio, advantage in zip(r[m], a[m], strict=True):
            held = max(-advantage * ratio, -advantage * min(max(ratio, 1 - LOW), 1 + HIGH))
            row.append(min(held, -advantage * C) if advantage < 0 else held)
        rows += [row] if row else []
    return rows


def explained(w: SimpleNamespace) -> float:
    returns, values = w.returns[w.loss], w.values[w.loss]
    return 1 - float(np.var(returns - values) / np.var(returns)) if len(returns) > 1 else math.nan


def beginnings(w: SimpleNamespace) -> list[np.ndarray[Any, Any]]:
    """log ref - log p on the first eighth of the tokens the policy sampled in each sample."""
    rows = [(w.ref - w.logp)[i][w.action[i]] for i in range(len(w.logp))]
    return [row[: math.ceil(len(row) / 8)] for row in rows]


PAIRS = {
    "ref": ("logp", "ref"),
    "update": ("old", "logp"),
    "sampler": ("rollout", "old"),
    "behaviour": ("rollout", "logp"),
}
REFERENCE: dict[str, Callable[[SimpleNamespace], float]] = {
    **{f"policy/kl_{name}_k1": lambda w, pq=pq: mean(-x(w, *pq)) for name, pq in PAIRS.items()},
    **{f"policy/kl_{name}_k2": lambda w, pq=pq: mean(x(w, *pq) ** 2 / 2) for name, pq in PAIRS.items()},
    **{f"policy/kl_{name}_k3": lambda w, pq=pq: mean(np.exp(x(w, *pq)) - 1 - x(w, *pq)) for name, pq in PAIRS.items()},
    "policy/kl_ref_begin_k3": lambda w: mean(np.exp(d) - 1 - d for row in beginnings(w) for d in row),
    "policy/entropy": lambda w: mean(w.entropy[w.action]),
    "policy/entropy_sampled": lambda w: mean(-w.logp[w.action]),
    "policy/ratio/mean": lambda w: mean(w.ratio[w.loss]),
    "policy/ratio/max": lambda w: max(w.ratio[w.loss], default=math.nan),
    "policy/ratio/p50": lambda w: float(np.median(w.ratio[w.loss])) if w.loss.any() else math.nan,
    "policy/ratio/outside": lambda w: mean(not 1 - LOW <= r <= 1 + HIGH for r in w.ratio[w.loss]),
    "policy/clip/low": lambda w: mean(r < 1 - LOW and a < 0 for r, a in zip(w.ratio[w.loss], w.a[w.loss], strict=True)),
    "policy/clip/high": lambda w: mean(
        r > 1 + HIGH and a > 0 for r, a in zip(w.ratio[w.loss], w.a[w.loss], strict=True)
    ),
    "policy/clip/dual": lambda w: mean(r > C and a < 0 for r, a in zip(w.ratio[w.loss], w.a[w.loss], strict=True)),
    "policy/loss/token_mean": lambda w: mean(loss for row in losses(w) for loss in row),
    "policy/loss/seq_mean_token_mean": lambda w: mean(mean(row) for row in losses(w)),
    "policy/loss/seq_mean_token_sum": lambda w: mean(sum(row) for row in losses(w)),
    "policy/loss/seq_mean_token_sum_norm": lambda w: mean(sum(row) / 64 for row in losses(w)),
    "advantage/mean": lambda w: mean(w.a[w.loss]),
    "critic/explained_variance": explained,
    "length/completion/mean": lambda w: mean(w.action.sum(1)),
    "length/response/mean": lambda w: mean(w.lengths),
    "length/aborted": lambda w: mean(row.sum() == 0 for row in w.action),
}


def padded(w: SimpleNamespace) -> dict[str, Any]:
    """Garbage outside all masks."""
    batch = {
        key: np.where(w.action, getattr(w, name), [np.nan, np.inf, -1e30][w.seed % 3]) for name, key in KEYS.items()
    }
    return batch | {"action_mask": w.action, "mask": w.loss, "valid_mask": w.valid}


def ragged(w: SimpleNamespace) -> dict[str, Any]:
    return {key: [row[:n] for row, n in zip(value, w.lengths, strict=True)] for key, value in padded(w).items()}


LAYOUTS: dict[str, Callable[[SimpleNamespace], dict[str, Any]]] = {
    "padded": padded,
    "tensors": lambda w: {key: torch.as_tensor(value) for key, value in padded(w).items()},
    "lists": lambda w: {key: value.tolist() for key, value in padded(w).items()},
    "ragged": ragged,
    "packed": lambda w: {key: np.concatenate(value) for key, value in ragged(w).items()} | {"lengths": w.lengths},
    "masks as bfloat16": lambda w: (
        padded(w)
        | {key: torch.as_tensor(padded(w)[key]).to(torch.bfloat16) for key in ("action_mask", "mask", "valid_mask")}
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_compute_agrees_with_the_definitions(layout: str, seed: int) -> None:
    w = world(seed)
    metrics = rs.compute(
        LAYOUTS[layout](w) | {"clip_low": LOW, "clip_high": HIGH, "clip_c": C, "max_completion_tokens": 64}
    )
    for name, definition in REFERENCE.items():
        assert metrics[name].value == pytest.approx(definition(w), rel=1e-9, abs=1e-9, nan_ok=True), name


def gini(values: list[float], low: float | None) -> float | None:
    """Σ over pairs |x_i - x_j| / (2 n² mean), shifted by the declared minimum, or None."""
    shifted = [v - (low or 0.0) for v in values if not math.isnan(v)]
    if len(shifted) < 2 or min(shifted) < 0:
        return None
    pairs = sum(abs(a - b) for a in shifted for b in shifted)
    return pairs / (2 * len(shifted) ** 2 * mean(shifted)) if pairs else 0.0


@pytest.mark.parametrize("low", [None, 0.0, -1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_gini_and_zero_spread_agree_with_the_definitions(seed: int, low: float | None) -> None:
    rng = np.random.default_rng(seed)
    group, reward = rng.integers(0, 4, 12), rng.choice([-1.0, 0.0, 0.5, 1.0, np.nan], 12)
    declared = {} if low is None else {"reward_min": low, "reward_max": 1.0}
    metrics = rs.compute({"group": group, "reward": reward} | declared)
    groups = [reward[group == g].tolist() for g in sorted(set(group))]
    each = [gini(members, low) for members in groups]
    assert metrics["group/reward_gini"].value == pytest.approx(mean(g for g in each if g is not None), nan_ok=True)
    assert metrics["group/not_counted"].value == sum(g is None for g in each)
    there = [[v for v in members if not math.isnan(v)] for members in groups]
    assert metrics["group/zero_spread"].value == pytest.approx(
        mean(max(m) - min(m) <= 1e-6 for m in there if len(m) > 1), nan_ok=True
    )
