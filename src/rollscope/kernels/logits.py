"""Log-probability of the sampled token and entropy of the distribution, in one read of the logits.

    z = logits / temperature,  m = max z,  Z = Σ e^(z - m),  S = Σ (z - m) e^(z - m)
    logp = z[token] - m - log Z        entropy = log Z - S / Z

On CUDA with Triton the logits are read once and nothing of their size is written
(logits_triton.py). Elsewhere the same formula runs in torch, a few rows at a time. `policy/entropy`
uses this, and the log-probabilities that other entries read come from it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

CHUNK = 1 << 26  # logits held in float32 at a time


def logprob_entropy(
    logits: torch.Tensor, tokens: torch.Tensor | None, temperature: float = 1.0
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """(log-probabilities [N] of `tokens`, or None without tokens; entropies [N] in nats).

    `logits` are [N, V] of any float type. The results are float64 if the device has it: rounding a
    log-probability of -18 to float32 costs 1e-6, more than all the arithmetic before.
    """
    logits = logits.detach()
    if logits.is_cuda and has_triton() and logits.stride(-1) == 1 and len(logits):
        from .logits_triton import logprob_entropy as fused

        return fused(logits, tokens, temperature)
    return in_torch(logits, tokens, temperature)


def in_torch(
    logits: torch.Tensor, tokens: torch.Tensor | None, temperature: float = 1.0
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """The definition, computed in chunks of rows."""
    exact = torch.float32 if logits.device.type == "mps" else torch.float64
    entropy = torch.empty(len(logits), dtype=exact, device=logits.device)
    logp = None if tokens is None else torch.empty_like(entropy)
    rows = max(1, CHUNK // max(1, logits.shape[-1]))
    for start in range(0, len(logits), rows):
        z = logits[start : start + rows].float() / temperature
        z = z - z.amax(-1, keepdim=True)
        e = z.exp()
        total = e.sum(-1).to(exact)
        inner = torch.where(e > 0, z * e, 0.0).sum(-1).to(exact)
        entropy[start : start + rows] = total.log() - inner / total
        if logp is not None and tokens is not None:
            logp[start : start + rows] = z.gather(-1, tokens[start : start + rows, None].long())[:, 0] - total.log()
    return logp, entropy


@cache
def has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def describe(logits: Any) -> str:
    """Which of the two runs for these logits: "triton" or "torch". For benchmarks."""
    return "triton" if logits.is_cuda and has_triton() else "torch"
