"""Kernels agree with the definition: for every dtype, odd shapes, and rows with -inf.

With CUDA the Triton version is tested, else torch's.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import rollscope as rs
from rollscope.kernels.logits import in_torch, logprob_entropy

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {  # of the result, for the logits as they were rounded
    torch.float64: 2e-6,
    torch.float32: 2e-6,
    torch.bfloat16: 2e-6,
    torch.float16: 2e-6,
}


def truth(logits: torch.Tensor, tokens: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    z = logits.double() / temperature
    logq = z.log_softmax(-1)
    return logq.gather(-1, tokens[:, None])[:, 0], -torch.where(logq > -torch.inf, logq.exp() * logq, 0.0).sum(-1)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (5, 2048), (3, 8191), (3, 8192), (4, 20011)], ids=str)
def test_the_kernel_agrees_with_the_definition(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    g = torch.Generator().manual_seed(0)
    logits = (torch.randn(shape, generator=g) * 4).to(dtype).to(DEVICE)
    tokens = torch.randint(0, shape[1], (shape[0],), generator=g).to(DEVICE)
    for temperature in (1.0, 0.7):
        logp, entropy = logprob_entropy(logits, tokens, temperature)
        assert logp is not None
        expected = truth(logits, tokens, temperature)
        torch.testing.assert_close(logp.double(), expected[0], rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])
        torch.testing.assert_close(entropy.double(), expected[1], rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])


def test_impossible_tokens_do_not_spoil_a_row() -> None:
    logits = torch.full((3, 3000), -torch.inf, device=DEVICE)
    logits[0, 5], logits[1, 7:9], logits[2, :] = 3.0, -2.0, 1.0
    logp, entropy = logprob_entropy(logits, torch.tensor([5, 8, 0], device=DEVICE))
    assert logp is not None
    assert logp.tolist() == pytest.approx([0.0, -np.log(2), -np.log(3000)], abs=1e-6)
    assert entropy.tolist() == pytest.approx([0.0, np.log(2), np.log(3000)], abs=1e-6)


def test_rows_may_be_strided_and_tokens_left_out() -> None:
    wide = torch.randn(6, 4000, device=DEVICE)
    logp, entropy = logprob_entropy(wide[::2, :3000], None)
    assert logp is None
    torch.testing.assert_close(entropy, in_torch(wide[::2, :3000].contiguous(), None)[1], rtol=1e-5, atol=1e-5)


def test_no_rows_give_no_rows() -> None:
    assert logprob_entropy(torch.empty(0, 10, device=DEVICE), None)[1].shape == (0,)


def test_the_kernel_keeps_no_graph() -> None:
    assert not logprob_entropy(torch.randn(2, 5, device=DEVICE, requires_grad=True), None)[1].requires_grad


def test_compute_reads_logits_where_they_are() -> None:
    logits = torch.randn(3, 4, 50, device=DEVICE)
    on_device = rs.compute({"logits": logits, "action_mask": torch.ones(3, 4, device=DEVICE)})["policy/entropy"]
    on_host = rs.compute({"logits": logits.cpu().numpy(), "action_mask": np.ones((3, 4))})["policy/entropy"]
    assert on_device.value == pytest.approx(on_host.value, rel=1e-5)
