"""How long `compute` takes, as a multiple of reading its arrays once.

The batch has 512 x 8,192 float32 tokens in eight arrays. One unit is `sum` of each array. Prints
the multiple for all token means, moments and extremes together, for the same with quantiles, the
cost of one histogram, and the extra memory as a share of one array. Times are processor seconds of
all threads, the best of several turns in rotation, so that a busy machine does not distort them.
Run: python bench/compute.py
"""

from __future__ import annotations

import argparse
import math
import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

import rollscope as rs
from rollscope.catalog.partials import distribution
from rollscope.catalog.spec import METRICS

BUDGET, PER_HISTOGRAM, MEMORY = 8.0, 0.6, 0.5


def batch(rows: int, width: int, clip: bool) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shape = (rows, width)
    old = -rng.exponential(0.5, shape).astype(np.float32)
    noise = [(rng.standard_normal(shape) * s).astype(np.float32) for s in (0.02, 0.05, 0.01)]
    arrays: dict[str, Any] = {
        "logp": old + noise[0],
        "old_logp": old,
        "ref_logp": old + noise[1],
        "rollout_logp": old + noise[2],
        "mask": np.arange(width) < rng.integers(width // 4, width + 1, (rows, 1)),
        "advantages": rng.standard_normal(shape).astype(np.float32),
        "values": rng.standard_normal(shape).astype(np.float32),
        "returns": rng.standard_normal(shape).astype(np.float32),
    }
    steps = {"clip_low": 0.2, "clip_high": 0.28, "clip_c": 3.0, "is_cap": 2.0, "ratio_level": "token"}
    return arrays | (steps if clip else {})


def timed(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The best of several turns of each, in processor seconds, after one turn to warm up."""
    best = [math.inf] * len(works)
    for turn in range(repeats + 1):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            if turn:
                best[i] = min(best[i], time.process_time() - start)
    return best


def without_quantiles(tokens: dict[str, Any]) -> dict[str, Any]:
    with (
        mock.patch.object(distribution, "QUANTILES", {}),
        mock.patch.object(distribution.Summary, "partials", lambda self, stats: {"mean": self.moments}),
    ):
        return rs.compute(tokens)


def extra_memory(tokens: dict[str, Any]) -> float:
    """The peak of what compute allocates, as a share of one array."""
    rs.compute(tokens)
    tracemalloc.start()
    rs.compute(tokens)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / tokens["logp"].nbytes


def histograms_of(metrics: dict[str, Any]) -> int:
    """The number of token metrics with a histogram."""
    names = {name.rsplit("/", 1)[0] for name in metrics if name.endswith("/p50")}
    return sum(n in METRICS and not n.startswith(("length", "policy/seq", "advantage_sample")) for n in names)


def measure(rows: int, width: int, repeats: int, clip: bool) -> None:
    tokens = batch(rows, width, clip)
    arrays = [x for x in tokens.values() if isinstance(x, np.ndarray)]
    works = [lambda: [x.sum() for x in arrays], lambda: without_quantiles(tokens), lambda: rs.compute(tokens)]
    unit, plain, full = timed(works, repeats)
    plain, full = plain / unit, full / unit
    metrics = rs.compute(tokens)
    histograms = histograms_of(metrics)
    each = (full - plain) / max(1, histograms)
    print(
        f"{rows} x {width}, {'with' if clip else 'without'} clip and cap, {len(metrics)} numbers; "
        f"sum of {len(arrays)} arrays {unit * 1e3:.1f} ms"
    )
    print(f"  means, moments, extremes  {plain:5.2f} x   (budget {BUDGET})")
    print(f"  with {histograms} histograms         {full:5.2f} x   ({each:.2f} each, budget {PER_HISTOGRAM})")
    print(f"  extra memory              {extra_memory(tokens):5.2f} arrays   (budget {MEMORY})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--width", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    print(f"numpy {np.__version__}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for clip in (False, True):
        measure(args.rows, args.width, args.repeats, clip)


if __name__ == "__main__":
    main()
