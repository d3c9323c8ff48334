"""Array functions that run where the array is: numpy on the host, torch on any device.

Definitions of token metrics use arithmetic operators and these names, nothing else, so one definition serves both. Sums of a block are
taken in the block's own precision and become Python floats (or 0-d tensors) that are added in float64.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .partial import Max, Mean, Min, Moments, PopulationStd, Std

Array = Any  # numpy.ndarray or torch.Tensor
_ONES = np.ones(1 << 17, np.float32)


def is_torch(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _module(x: Array) -> Any:
    return np if isinstance(x, (np.ndarray, np.generic, float, int)) else sys.modules["torch"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Which tokens of a block belong to which sample: `counts[i]` tokens of sample i, one sample after the other."""

    counts: Array
    n: int  # tokens in all, known without asking the device
    _starts: list[Array] = field(default_factory=list)

    def starts(self) -> Array:
        if not self._starts:
            self._starts.append(np.concatenate(([0], np.cumsum(self.counts)[:-1])).astype(np.intp))
        return self._starts[0]


def exp(x: Array) -> Array:
    return _quiet(np.exp, x) if isinstance(x, np.ndarray) else _module(x).exp(x)


def expm1(x: Array) -> Array:
    return _quiet(np.expm1, x) if isinstance(x, np.ndarray) else _module(x).expm1(x)


def log(x: Array) -> Array:
    return _quiet(np.log, x) if isinstance(x, np.ndarray) else _module(x).log(x)


def _quiet(function: Any, x: Array) -> Array:
    """Overflow to Inf is an answer here, not an accident."""
    with np.errstate(all="ignore"):
        return function(x)


def absolute(x: Array) -> Array:
    return np.abs(x) if isinstance(x, np.ndarray) else x.abs()


def sign(x: Array) -> Array:
    return np.sign(x) if isinstance(x, np.ndarray) else x.sign()


def maximum(x: Array, y: Array) -> Array:
    if isinstance(x, np.ndarray):
        return np.maximum(x, y)
    return x.clamp(min=y) if isinstance(y, (int, float)) else sys.modules["torch"].maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    if isinstance(x, np.ndarray):
        return np.minimum(x, y)
    return x.clamp(max=y) if isinstance(y, (int, float)) else sys.modules["torch"].minimum(x, y)


def clip(x: Array, low: float, high: float) -> Array:
    return np.clip(x, low, high) if isinstance(x, np.ndarray) else x.clamp(low, high)


def beyond(x: Array, bound: float) -> bool:
    """Whether any |x| passes a bound. On a device the answer is always yes, since asking would stop it."""
    return not isinstance(x, np.ndarray) or bool(x.size and not (x.max() <= bound and x.min() >= -bound))


def where(condition: Array, x: Array, y: Array) -> Array:
    return _module(condition).where(condition, x, y)


def stack(columns: list[Array]) -> Array:
    """One row per sample, one column each."""
    return (
        np.stack(columns, axis=1) if isinstance(columns[0], np.ndarray) else sys.modules["torch"].stack(columns, dim=1)
    )


def size(x: Array) -> int:
    return int(x.size) if isinstance(x, np.ndarray) else int(x.numel())


def total(x: Array) -> Any:
    """Sum of a block. A float32 dot product with ones is four times faster than `sum` and no less exact."""
    if not isinstance(x, np.ndarray):
        return x.sum(dtype=sys.modules["torch"].float64)
    if x.dtype == np.float32 and x.size <= _ONES.size:
        return float(np.dot(x, _ONES[: x.size]))
    return float(np.sum(x, dtype=np.float64))


def total_where(condition: Array, x: Array) -> Any:
    """Sum of x where a condition holds."""
    return total(x[condition]) if isinstance(x, np.ndarray) else total(where(condition, x, x * 0))


def dot(x: Array, y: Array) -> Any:
    if not isinstance(x, np.ndarray):
        return (x.double() * y.double()).sum()
    return float(np.dot(x, y))


def count(condition: Array) -> Any:
    return float(np.count_nonzero(condition)) if isinstance(condition, np.ndarray) else condition.sum()


def row_sum(x: Array, rows: Rows) -> Array:
    """Sum of x over each sample's tokens, float64; 0 for a sample without any."""
    if not isinstance(x, np.ndarray):
        torch = sys.modules["torch"]
        segment = torch.repeat_interleave(rows.counts, output_size=rows.n)
        return torch.zeros(len(rows.counts), dtype=torch.float64, device=x.device).index_add_(0, segment, x.double())
    return _reduceat(np.add, x, rows, 0.0)


def row_max(x: Array, rows: Rows) -> Array:
    """Largest x of each sample's tokens; -inf for a sample without any."""
    if not isinstance(x, np.ndarray):
        torch = sys.modules["torch"]
        segment = torch.repeat_interleave(rows.counts, output_size=rows.n)
        low = torch.full((len(rows.counts),), -math.inf, dtype=torch.float64, device=x.device)
        return low.scatter_reduce(0, segment, x.double(), "amax")
    return _reduceat(np.maximum, x, rows, -math.inf)


def _reduceat(function: np.ufunc, x: np.ndarray[Any, Any], rows: Rows, nothing: float) -> np.ndarray[Any, Any]:
    if function is np.add and x.dtype in (np.float32, bool) and len(rows.counts) and rows.n > 2048 * len(rows.counts):
        add = count if x.dtype == bool else total  # long samples: one fast sum each beats reduceat
        return np.array(
            [add(x[start : start + n]) for start, n in zip(rows.starts().tolist(), rows.counts.tolist(), strict=True)]
        )
    out = np.full(len(rows.counts), nothing)
    some = rows.counts > 0  # reduceat gives a neighbour's value for an empty segment
    if some.any():
        x = x.astype(np.int64) if x.dtype == bool else x
        out[some] = function.reduceat(x, rows.starts()[some])
    return out


def row_mean(x: Array, rows: Rows) -> Array:
    """Mean of x over each sample's tokens; NaN for a sample without any."""
    with np.errstate(invalid="ignore"):
        return row_sum(x, rows) / rows.counts


def spread(x: Array, rows: Rows) -> Array:
    """One value per sample, repeated over its tokens."""
    if isinstance(x, np.ndarray):
        return np.repeat(x, rows.counts)
    return sys.modules["torch"].repeat_interleave(x, rows.counts, output_size=rows.n)


# Reductions: a block of values to a partial.


def mean(x: Array) -> Mean:
    return Mean(total(x), float(size(x)))


def share(condition: Array) -> Mean:
    """The share of tokens (or sequences) for which a condition holds."""
    return Mean(count(condition), float(size(condition)))


def moments(x: Array) -> Moments:
    """Count, mean and summed squared deviation, taken around a centre near the mean, so that nothing cancels."""
    n = size(x)
    if not n:
        return Moments()
    if not isinstance(x, np.ndarray):
        centre = total(x) / n
        off = x.double() - centre
        return Moments(float(n), centre, (off * off).sum())
    near = x.dtype.type(total(x[:1024]) / min(n, 1024) if x.dtype == np.float32 else total(x) / n)
    off = x - near
    rest = total(off) / n
    if not math.isfinite(rest):  # infinities have a mean, and no spread
        return Moments(float(n), float(total(x)) / n, math.nan)
    return Moments(float(n), float(near) + rest, max(dot(off, off) - n * rest * rest, 0.0))


def std(x: Array) -> Std:
    return Std(*moments(x).state())


def population_std(x: Array) -> PopulationStd:
    return PopulationStd(*moments(x).state())


def highest(x: Array) -> Max:
    return Max(*extremes(x))


def lowest(x: Array) -> Min:
    return Min(*extremes(x))


def extremes(x: Array) -> tuple[Any, Any, float]:
    n = size(x)
    if not n:
        return (math.inf, -math.inf, 0.0)
    return (float(x.min()), float(x.max()), float(n)) if isinstance(x, np.ndarray) else (x.min(), x.max(), float(n))
