"""Array functions that run where the array is: numpy on the host, torch on any device.

Definitions of token metrics use only arithmetic operators and these functions, so that one
definition serves both. A block is summed in its own precision; the sums, Python floats or 0-d
tensors, are added in float64.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .moments import Moments
from .partial import Max, Mean, Min

Array = Any  # numpy.ndarray or torch.Tensor
_ONES = np.ones(1 << 17, np.float32)


def is_torch(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _module(x: Array) -> Any:
    return np if isinstance(x, (np.ndarray, np.generic, float, int)) else sys.modules["torch"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Which tokens of a block belong to which sample: `counts[i]` to sample i, in order."""

    counts: Array
    n: int  # all tokens; reading it does not wait for the device
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
    """Silence warnings: an overflow to Inf is a valid result here."""
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
    """Whether any |x| exceeds a bound. Always true on a device, where a look would force a wait."""
    return not isinstance(x, np.ndarray) or bool(x.size and not (x.max() <= bound and x.min() >= -bound))


def where(condition: Array, x: Array, y: Array) -> Array:
    return _module(condition).where(condition, x, y)


def stack(columns: list[Array]) -> Array:
    """One row per sample, one column per array."""
    if isinstance(columns[0], np.ndarray):
        return np.stack(columns, axis=1)
    return sys.modules["torch"].stack(columns, dim=1)


def size(x: Array) -> int:
    return int(x.size) if isinstance(x, np.ndarray) else int(x.numel())


def total(x: Array) -> Any:
    """Sum of a block. A float32 dot product with ones is as exact as `sum`, four times faster."""
    if not isinstance(x, np.ndarray):
        return x.sum(dtype=sys.modules["torch"].float64)
    if x.dtype == np.float32 and x.size <= _ONES.size:
        return float(np.dot(x, _ONES[: x.size]))
    return float(np.sum(x, dtype=np.float64))


def has_nan(x: Array) -> Any:
    """Whether any value is NaN: a bool, or a tensor of the device. A sum finds it fastest."""
    if not isinstance(x, np.ndarray):
        return x.isnan().any()
    return x.dtype.kind == "f" and math.isnan(total(x)) and bool(np.isnan(x).any())


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
    """Sum of x over the tokens of each sample, float64; 0 for a sample without tokens."""
    if not isinstance(x, np.ndarray):
        torch = sys.modules["torch"]
        segment = torch.repeat_interleave(rows.counts, output_size=rows.n)
        return torch.zeros(len(rows.counts), dtype=torch.float64, device=x.device).index_add_(0, segment, x.double())
    return _reduceat(np.add, x, rows, 0.0)


def row_max(x: Array, rows: Rows) -> Array:
    """Largest x over the tokens of each sample; -inf for a sample without tokens."""
    if not isinstance(x, np.ndarray):
        torch = sys.modules["torch"]
        segment = torch.repeat_interleave(rows.counts, output_size=rows.n)
        low = torch.full((len(rows.counts),), -math.inf, dtype=torch.float64, device=x.device)
        return low.scatter_reduce(0, segment, x.double(), "amax")
    return _reduceat(np.maximum, x, rows, -math.inf)


def _reduceat(function: np.ufunc, x: np.ndarray[Any, Any], rows: Rows, empty: float) -> np.ndarray[Any, Any]:
    if function is np.add and x.dtype in (np.float32, bool) and len(rows.counts) and rows.n > 2048 * len(rows.counts):
        add = count if x.dtype == bool else total  # for long samples, one fast sum each beats reduceat
        starts = zip(rows.starts().tolist(), rows.counts.tolist(), strict=True)
        return np.array([add(x[start : start + n]) for start, n in starts])
    results = np.full(len(rows.counts), empty)
    filled = rows.counts > 0  # reduceat gives a neighbour's value for an empty segment
    if filled.any():
        x = x.astype(np.int64) if x.dtype == bool else x
        results[filled] = function.reduceat(x, rows.starts()[filled])
    return results


def row_mean(x: Array, rows: Rows) -> Array:
    """Mean of x over the tokens of each sample; NaN for a sample without tokens."""
    with np.errstate(invalid="ignore"):
        return row_sum(x, rows) / rows.counts


def spread(x: Array, rows: Rows) -> Array:
    """Repeat one value per sample over the tokens of that sample."""
    if isinstance(x, np.ndarray):
        return np.repeat(x, rows.counts)
    return sys.modules["torch"].repeat_interleave(x, rows.counts, output_size=rows.n)


# Reductions of a block of values to a partial.


def mean(x: Array) -> Mean:
    return Mean(total(x), float(size(x)))


def mean_of_beginnings(x: Array, rows: Rows, parts: int) -> Mean:
    """Mean of x over the first of `parts` equal parts of each sample's tokens, rounded up."""
    first = (rows.counts + parts - 1) // parts
    if isinstance(x, np.ndarray):
        shift = np.repeat(rows.starts() - np.cumsum(first) + first, first)
        return mean(x[shift + np.arange(len(shift))])
    torch = sys.modules["torch"]
    starts = torch.repeat_interleave(rows.counts.cumsum(0) - rows.counts, rows.counts, output_size=rows.n)
    begins = torch.arange(rows.n, device=x.device) - starts < spread(first, rows)
    return Mean(total_where(begins, x), first.sum())


def share(condition: Array) -> Mean:
    """The share of tokens or sequences for which a condition holds."""
    return Mean(count(condition), float(size(condition)))


def moments(x: Array) -> Moments:
    """Count, mean and summed squared deviation. A centre near the mean avoids cancellation."""
    n = size(x)
    if not n:
        return Moments()
    if not isinstance(x, np.ndarray):
        centre = total(x) / n
        off = x.double() - centre
        return Moments(float(n), centre, (off * off).sum())
    near = x.dtype.type(total(x[:1024]) / min(n, 1024) if x.dtype == np.float32 else total(x) / n)
    off = x - near
    shift = total(off) / n
    if not math.isfinite(shift):  # infinities have a mean but no spread
        return Moments(float(n), float(total(x)) / n, math.nan)
    return Moments(float(n), float(near) + shift, max(dot(off, off) - n * shift * shift, 0.0))


def highest(x: Array) -> Max:
    return Max(*extremes(x))


def lowest(x: Array) -> Min:
    return Min(*extremes(x))


def extremes(x: Array) -> tuple[Any, Any, float]:
    """Lowest, highest and count: the state of `Extremes`."""
    n = size(x)
    if not n:
        return (math.inf, -math.inf, 0.0)
    return (float(x.min()), float(x.max()), float(n)) if isinstance(x, np.ndarray) else (x.min(), x.max(), float(n))
