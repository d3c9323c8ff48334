"""Entropy and full KL from logits: in chunks, all layouts, both backends, next to infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rollscope as rs
from rollscope.catalog.compute import vocabulary
from rollscope.catalog.compute.compute import _compute
from rollscope.catalog.compute.vocabulary import Picked, entropy_of_logits, kl_of_logits

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0, 3, (3, 5, 11)).astype(np.float32)
OTHER = RNG.normal(0, 3, (3, 5, 11)).astype(np.float32)
MASK = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, 1]])


def softmax(z: Any) -> Any:
    e = np.exp(z.astype(np.float64) - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def entropy(z: Any) -> Any:
    p = softmax(z)
    return -(p * np.log(p)).sum(-1)


@pytest.mark.parametrize("chunk", [1, 30, 1 << 20])
def test_entropy_is_the_textbook_number_for_any_chunk(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(vocabulary, "CHUNK", chunk)
    partial = rs.compute({"logits": LOGITS, "action_mask": MASK})["policy/entropy"]
    assert partial.value == pytest.approx(entropy(LOGITS)[MASK > 0].mean())
    assert partial.weight == 7


def test_entropy_is_at_the_sampling_temperature() -> None:
    partial = rs.compute({"logits": LOGITS, "action_mask": MASK, "temperature": 0.7})["policy/entropy"]
    assert partial.value == pytest.approx(entropy(LOGITS / 0.7)[MASK > 0].mean())


def test_given_entropy_goes_before_logits() -> None:
    batch = {"logits": LOGITS, "entropy": np.full((3, 5), 0.25), "action_mask": MASK}
    assert rs.compute(batch)["policy/entropy"].value == 0.25


def test_full_kl_is_the_textbook_number() -> None:
    p, q = softmax(LOGITS), softmax(OTHER)
    partial = rs.compute({"logits": LOGITS, "ref_logits": OTHER, "action_mask": MASK})["policy/kl_ref_full"]
    assert partial.value == pytest.approx((p * np.log(p / q)).sum(-1)[MASK > 0].mean())


@pytest.mark.parametrize("layout", ["ragged", "packed", "torch", "torch kept"])
def test_layouts_agree(layout: str) -> None:
    whole = rs.compute({"logits": LOGITS, "ref_logits": OTHER, "action_mask": MASK})
    if layout == "ragged":
        rows = [np.flatnonzero(m) for m in MASK]
        other = rs.compute(
            {
                "logits": [z[i] for z, i in zip(LOGITS, rows, strict=True)],
                "ref_logits": [z[i] for z, i in zip(OTHER, rows, strict=True)],
            }
        )
    elif layout == "packed":
        other = rs.compute({"logits": LOGITS[MASK > 0], "ref_logits": OTHER[MASK > 0], "lengths": MASK.sum(1)})
    else:
        tensors = {
            "logits": torch.as_tensor(LOGITS),
            "ref_logits": torch.as_tensor(OTHER),
            "action_mask": torch.as_tensor(MASK),
        }
        other = rs.compute(tensors) if layout == "torch" else _compute(tensors, None, None, keep_torch=True)
    for name in ("policy/entropy", "policy/kl_ref_full"):
        assert other[name].value == pytest.approx(whole[name].value, rel=1e-5)


def test_tokens_that_cannot_be_sampled_have_no_entropy() -> None:
    logits = np.array([[0.0, 0.0, -np.inf], [5.0, -np.inf, -np.inf]])
    assert entropy_of_logits(Picked(logits, None)) == pytest.approx([np.log(2), 0.0])
    assert kl_of_logits(Picked(logits, None), Picked(np.zeros((2, 3)), None)) == pytest.approx([np.log(1.5), np.log(3)])


def test_no_tokens_is_no_data() -> None:
    assert np.isnan(rs.compute({"logits": LOGITS, "action_mask": np.zeros((3, 5))})["policy/entropy"].value)
