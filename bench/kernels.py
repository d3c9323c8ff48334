"""Log-probability and entropy of 16,384 x 151,936 bf16 logits: our kernel, torch, one plain read.

Run on a machine with CUDA: `python bench/kernels.py`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch

from rollscope.kernels.logits import describe, in_torch, logprob_entropy


def timed(work: Callable[[], Any], repeats: int = 20) -> float:
    """Median milliseconds, measured by CUDA events."""
    for _ in range(3):
        work()
    runs = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        runs.append(start.elapsed_time(stop))
    return statistics.median(runs)


def error(logits: torch.Tensor, tokens: torch.Tensor) -> tuple[float, float]:
    """Largest absolute error of log-probability and of entropy against float64, over some rows."""
    rows = slice(0, 256)
    logq = logits[rows].double().log_softmax(-1)
    logp, entropy = logprob_entropy(logits[rows], tokens[rows])
    assert logp is not None
    truth = -(logq.exp() * logq).sum(-1)
    return float((logp - logq.gather(-1, tokens[rows, None])[:, 0]).abs().max()), float((entropy - truth).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--vocabulary", type=int, default=151936)
    args = parser.parse_args()
    torch.manual_seed(0)
    logits = (torch.randn(args.rows, args.vocabulary, device="cuda") * 3).bfloat16()
    tokens = torch.randint(0, args.vocabulary, (args.rows,), device="cuda")
    size = f"{args.rows} x {args.vocabulary} bf16, {logits.numel() * 2 / 1e9:.2f} GB"
    print(torch.cuda.get_device_name(), "torch", torch.__version__, size)
    ours = timed(lambda: logprob_entropy(logits, tokens))
    read = timed(lambda: logits.view(torch.int32).amax())
    print(f"  ours ({describe(logits)})   {ours:7.3f} ms   {logits.numel() * 2 / ours / 1e9:6.2f} TB/s")
    print(f"  one read (amax)   {read:7.3f} ms   ours is {ours / read:.2f} x")
    print(f"  torch, chunked    {timed(lambda: in_torch(logits, tokens), 5):7.3f} ms")
    worst = error(logits, tokens)
    print(f"  largest error against float64: log-probability {worst[0]:.2e}, entropy {worst[1]:.2e}")


if __name__ == "__main__":
    main()
