"""The Triton kernel: a program per token reads its row of logits once, with three numbers a lane.

Imported only for CUDA tensors, where Triton is installed.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

LANES = 1024  # accumulators of a program: eight a thread with four warps
LOG2_E = 1.4426950408889634
DEPTH = 4  # elements a lane takes between two updates of its maximum: one extra exponential in four


@triton.jit  # type: ignore[untyped-decorator]
def _row(  # type: ignore[no-untyped-def]  # Triton reads annotations itself and knows only its own
    logits_ptr,  # [N, V] any float, rows may be strided
    row_stride,  # elements
    token_ptr,  # [N] int64, read when HAS_TOKENS
    logp_ptr,  # [N] float64, written when HAS_TOKENS
    entropy_ptr,  # [N] float64, nats
    V,  # int
    inverse,  # 1 / temperature
    power,  # log2(e) / temperature: exponentials are powers of two
    HAS_TOKENS: tl.constexpr,
    LANES: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Per lane, with d = x - m (exact for 16-bit logits): Z = Σ 2^(d power), S = Σ d 2^(d power).

    The lanes are joined at the end, in float64.
    """
    row = tl.program_id(0).to(tl.int64)
    base = logits_ptr + row * row_stride
    m = tl.full([LANES], -1e30, tl.float32)  # not -inf: a lane of masked logits would make inf - inf
    z = tl.zeros([LANES], tl.float32)
    s = tl.zeros([LANES], tl.float32)
    tile = tl.arange(0, DEPTH)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    tiled = V // (LANES * DEPTH) * (LANES * DEPTH)
    for start in range(0, tiled, LANES * DEPTH):
        x = tl.load(base + start + tile).to(tl.float32)
        new = tl.maximum(m, tl.max(x, 0))
        shrink = tl.exp2((m - new) * power)
        d = x - new[None, :]
        e = tl.exp2(d * power)
        s = shrink * (s + z * (m - new)) + tl.sum(tl.where(e > 0, d * e, 0.0), 0)
        z = shrink * z + tl.sum(e, 0)
        m = new
    for start in range(tiled, V, LANES):  # the rest, one element a lane
        at = start + tl.arange(0, LANES)
        x = tl.load(base + at, mask=at < V, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, x)
        shrink = tl.exp2((m - new) * power)
        d = x - new
        e = tl.exp2(d * power)
        s = shrink * (s + z * (m - new)) + tl.where(e > 0, d * e, 0.0)
        z = shrink * z + e
        m = new
    top = tl.max(m, 0)
    shift = (m - top).to(tl.float64)
    weight = tl.exp2((m - top) * power).to(tl.float64)
    total = tl.sum(z.to(tl.float64) * weight, 0)
    inner = tl.sum(tl.where(z > 0, weight * (s.to(tl.float64) + z.to(tl.float64) * shift), 0.0), 0)
    log_total = tl.log(total)
    tl.store(entropy_ptr + row, log_total - inner / total * inverse)
    if HAS_TOKENS:
        token = tl.load(token_ptr + row)
        chosen = tl.load(base + token).to(tl.float32) - top
        tl.store(logp_ptr + row, chosen.to(tl.float64) * inverse - log_total)


def logprob_entropy(
    logits: torch.Tensor, tokens: torch.Tensor | None, temperature: float = 1.0
) -> tuple[torch.Tensor | None, torch.Tensor]:
    """The same as `logits.logprob_entropy`, for CUDA tensors whose rows are contiguous."""
    n, v = logits.shape
    entropy = torch.empty(n, dtype=torch.float64, device=logits.device)
    logp = None if tokens is None else torch.empty_like(entropy)
    ids = entropy if tokens is None else tokens.to(logits.device, torch.int64).contiguous()
    inverse = 1.0 / temperature
    target = entropy if logp is None else logp
    with torch.cuda.device(logits.device):
        numbers = (v, inverse, inverse * LOG2_E)
        sizes = (tokens is not None, LANES, DEPTH)
        _row[(n,)](logits, logits.stride(0), ids, target, entropy, *numbers, *sizes, num_warps=4)
    return logp, entropy
