"""How long `compute` takes, as a multiple of reading its arrays once.

512 x 8,192 float32 tokens, eight arrays. One unit is `sum` of each array. Prints the multiple for all token means, moments and extremes together, for
the same with quantiles, what one histogram adds, and the extra memory as a share of one array. Times are processor seconds of all threads, the best of
several turns taken in rotation, so that a busy machine costs turns and not truth. Run: python bench/compute.py
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
    given: dict[str, Any] = {
        "logp": old + noise[0],
        "old_logp": old,
        "ref_logp": old + noise[1],
        "rollout_logp": old + noise[2],
        "mask": np.arange(width) < rng.integers(width // 4, width + 1, (rows, 1)),
        "advantages": rng.standard_normal(shape).astype(np.float32),
        "values": rng.standard_normal(shape).astype(np.float32),
        "returns": rng.standard_normal(shape).astype(np.float32),
    }
    return given | (
        {"clip_low": 0.2, "clip_high": 0.28, "clip_c": 3.0, "is_cap": 2.0, "ratio_level": "token"} if clip else {}
    )


def timed(works: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The best of several turns of each, processor seconds, after one to warm up."""
    best = [math.inf] * len(works)
    for turn in range(repeats + 1):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            if turn:
                best[i] = min(best[i], time.process_time() - start)
    return best


def without_quantiles(given: dict[str, Any]) -> dict[str, Any]:
    with (
        mock.patch.object(distribution, "QUANTILES", {}),
        mock.patch.object(distribution.Summary, "partials", lambda self, stats: {"mean": self.moments}),
    ):
        return rs.compute(given)


def extra_memory(given: dict[str, Any]) -> float:
    """Peak of what compute allocates, as a share of one array."""
    rs.compute(given)
    tracemalloc.start()
    rs.compute(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / given["logp"].nbytes


def measure(rows: int, width: int, repeats: int, clip: bool) -> None:
    given = batch(rows, width, clip)
    token_arrays = [x for x in given.values() if isinstance(x, np.ndarray)]
    unit, plain, full = timed(
        [lambda: [x.sum() for x in token_arrays], lambda: without_quantiles(given), lambda: rs.compute(given)], repeats
    )
    plain, full = plain / unit, full / unit
    names = {name.rsplit("/", 1)[0] for name in rs.compute(given) if name.endswith("/p50")}
    histograms = len(
        [n for n in names if n in METRICS and not n.startswith(("length", "policy/seq", "advantage_sample"))]
    )
    memory = extra_memory(given)
    print(
        f"{rows} x {width}, {'with' if clip else 'without'} clip and cap, {len(rs.compute(given))} numbers; sum of {len(token_arrays)} arrays {unit * 1e3:.1f} ms"
    )
    print(f"  means, moments, extremes  {plain:5.2f} x   (budget {BUDGET})")
    print(
        f"  with {histograms} histograms         {full:5.2f} x   ({(full - plain) / max(1, histograms):.2f} each, budget {PER_HISTOGRAM})"
    )
    print(f"  extra memory              {memory:5.2f} arrays   (budget {MEMORY})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--width", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    print(f"numpy {np.__version__}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for clip in (False, True):
        measure(asked.rows, asked.width, asked.repeats, clip)


if __name__ == "__main__":
    main()
